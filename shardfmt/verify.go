package shardfmt

import (
	"context"
	"errors"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/urlresolve"
)

// VerifyOptions of Verify. The zero value is valid.
type VerifyOptions struct {
	// Size of the root in bytes, 0 if it is not known.
	Size int64
	// Allow lists what absolute references may name outside the root's folder.
	Allow []urlresolve.Prefix
}

// Report is the outcome of Verify.
type Report struct {
	// OK says that there are no errors.
	OK bool `json:"ok"`
	// Objects is the number of objects that the shard consists of.
	Objects int `json:"objects"`
	// Bytes is the number of bytes that were checked: all that a reference reaches.
	Bytes int64 `json:"bytes"`
	// UnprotectedBytes is how many of them no checksum covers; damage there shows only where it contradicts
	// something else. Shards of our own have none.
	UnprotectedBytes int64 `json:"unprotected_bytes"`
	// Errors found, at most MaxFindings.
	Errors []Finding `json:"errors"`
}

// Finding is something wrong in a shard.
type Finding struct {
	Object string `json:"object"`
	// Offset in bytes from the start of the object, −1 where none applies.
	Offset int64  `json:"offset"`
	What   string `json:"what"`
}

// MaxFindings is how many errors a report holds: behind the first few, the rest is seldom news.
const MaxFindings = 1000

// Verify reads every byte that a reference of the shard at url reaches, and checks it: magic, frames, checksums,
// block maps, padding, counts, and that all values decode. What is wrong is in the report. The error is for what
// kept Verify from its work: a root that is not there, a store that does not answer, a canceled context.
func Verify(ctx context.Context, sp *blobio.Space, url string, o VerifyOptions) (*Report, error) {
	v := &verifier{ctx: ctx, sp: sp, url: url, o: o, covered: make(map[string][]blobio.Range), report: &Report{Errors: []Finding{}}}
	if err := v.run(); err != nil {
		return nil, err
	}
	v.finish()
	return v.report, nil
}

// verifier is a Verify at work.
type verifier struct {
	ctx    context.Context
	sp     *blobio.Space
	url    string
	o      VerifyOptions
	shard  *Shard
	report *Report
	// covered are the bytes that references reach, by object.
	covered map[string][]blobio.Range
	// summed are those of them that a stripe's property holds the checksum of.
	summed map[string][]blobio.Range
	// loose are the bytes without checksum in buffers, by object and start of the buffer.
	loose []looseBytes
	// failed is the first error that is none of stored data.
	failed error
}

type looseBytes struct {
	url   string
	start int64
	n     uint64
}

func (v *verifier) run() error {
	root, err := Open(v.ctx, v.sp, v.url, OpenOptions{Size: v.o.Size, Allow: v.o.Allow})
	if isMissing(err, v.url) {
		return err
	}
	if err != nil {
		v.error(err)
		return v.failed
	}
	v.shard = root
	v.summed = make(map[string][]blobio.Range)
	v.metadata()
	v.stripes()
	v.objects()
	return v.failed
}

// isMissing says that the object at url is not there.
func isMissing(err error, url string) bool {
	var e *blobio.Error
	return errors.Is(err, blobio.ErrNotFound) && errors.As(err, &e) && e.URL == url
}

// error takes an error into the report, or ends the work if it is none of stored data.
func (v *verifier) error(err error) {
	if err == nil {
		return
	}
	var e *corrupt.Error
	switch {
	case errors.As(err, &e):
		object := e.Object
		if object == "" {
			object = v.url
		}
		what := e.What
		if e.Err != nil {
			what += ": " + e.Err.Error()
		}
		v.find(object, e.Offset, what)
	case errors.Is(err, urlresolve.ErrRefused), errors.Is(err, blobio.ErrNotFound), errors.Is(err, blobio.ErrRange):
		v.find(v.url, -1, err.Error())
	case v.failed == nil:
		v.failed = err
	}
}

func (v *verifier) find(object string, offset int64, what string) {
	f := Finding{object, offset, what}
	if len(v.report.Errors) < MaxFindings && !slices.Contains(v.report.Errors, f) {
		v.report.Errors = append(v.report.Errors, f)
	}
}

// cover notes that a reference reaches bytes.
func (v *verifier) cover(url string, start, end int64) {
	if end > start {
		v.covered[url] = append(v.covered[url], blobio.Range{Start: start, End: end})
	}
}

// read reads bytes of an object that a reference names.
func (v *verifier) read(url string, start, end uint64) ([]byte, error) {
	got, err := v.sp.ReadRanges(v.ctx, url, []blobio.Range{{Start: int64(start), End: int64(end)}})
	if err != nil {
		return nil, missing(err, url)
	}
	return got[0], nil
}

// finish adds up.
func (v *verifier) finish() {
	r := v.report
	r.Objects = len(v.covered)
	for url, ranges := range v.covered {
		merged := mergeRanges(ranges)
		v.covered[url] = merged
		for _, m := range merged {
			r.Bytes += m.Len()
		}
	}
	for _, l := range v.loose {
		if !contains(v.summed[l.url], l.start) {
			r.UnprotectedBytes += int64(l.n)
		}
	}
	r.OK = len(r.Errors) == 0
}

// mergeRanges sorts ranges and joins those that touch.
func mergeRanges(ranges []blobio.Range) []blobio.Range {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b blobio.Range) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	var out []blobio.Range
	for _, r := range sorted {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
		} else {
			out = append(out, r)
		}
	}
	return out
}

func contains(ranges []blobio.Range, at int64) bool {
	return slices.ContainsFunc(ranges, func(r blobio.Range) bool { return r.Start <= at && at < r.End })
}
