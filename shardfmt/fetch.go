package shardfmt

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// fetch reads what requests ask for, near ones of an object together, all at the same time.
func fetch(ctx context.Context, sp *blobio.Client, round []buffer.Request) error {
	byURL := make(map[string][]buffer.Request)
	var urls []string
	for _, q := range round {
		if byURL[q.URL] == nil {
			urls = append(urls, q.URL)
		}
		byURL[q.URL] = append(byURL[q.URL], q)
	}
	var groups [][]buffer.Request
	for _, url := range urls {
		groups = append(groups, group(byURL[url])...)
	}
	got := make([][][]byte, len(groups))
	read := func(ctx context.Context, sp *blobio.Client, i int) (err error) {
		got[i], err = readGroup(ctx, sp, groups[i])
		return err
	}
	var err error
	if len(groups) == 1 {
		err = read(ctx, sp, 0)
	} else {
		err = sp.Each(ctx, len(groups), read)
	}
	if err != nil {
		return err
	}
	for i, g := range groups { // one after the other: requests of one stream may be in several groups
		for k, q := range g {
			if err := q.Fill(got[i][k]); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	// smallGap is how many bytes may be read for nothing to save a request, whatever else is read: a point
	// lookup of 128 KiB has room for a few.
	smallGap = 16 << 10
	// wasteShare is the part of what is needed that may be read for nothing besides: a scan stays within 1.05.
	wasteShare = 25
)

// group puts requests that lie close together into one group.
func group(round []buffer.Request) [][]buffer.Request {
	sorted := slices.Clone(round)
	slices.SortFunc(sorted, func(a, b buffer.Request) int { return cmp.Compare(a.Start, b.Start) })
	spare := uint64(0)
	for _, q := range sorted {
		spare += (q.End - q.Start) / wasteShare
	}
	var out [][]buffer.Request
	end := uint64(0)
	for _, q := range sorted {
		gap := q.Start - min(end, q.Start)
		switch {
		case len(out) > 0 && gap <= smallGap:
		case len(out) > 0 && gap <= spare:
			spare -= gap
		default:
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], q)
		end = max(end, q.End)
	}
	return out
}

// readGroup reads the requests of a group.
func readGroup(ctx context.Context, sp *blobio.Client, g []buffer.Request) ([][]byte, error) {
	ranges := make([]blobio.Range, len(g))
	for i, q := range g {
		ranges[i] = blobio.Range{Start: int64(q.Start), End: int64(q.End)}
	}
	got, err := sp.ReadRanges(ctx, g[0].URL, ranges)
	return got, missing(err, g[0].URL)
}

// missing makes a reference to what is not there an error of stored data: the object that holds it is damaged,
// or incomplete.
func missing(err error, url string) error {
	if errors.Is(err, blobio.ErrNotFound) || errors.Is(err, blobio.ErrRange) {
		return &corrupt.Error{Kind: corrupt.ErrCorrupt, Object: url, Offset: -1, What: "referenced data is missing", Err: err}
	}
	return err
}
