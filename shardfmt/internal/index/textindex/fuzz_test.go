package textindex

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// FuzzTree asks trees whose pages say anything: levels that rise, pages that refer to themselves, lists that end before
// they start or beyond the positions. An answer comes, or an error of corrupt data; and it comes soon.
func FuzzTree(f *testing.F) {
	f.Add([]byte{0, 1, 'a', 0, 0, 2, 1, 1, 'a', 0, 0, 0})
	f.Add([]byte{1, 1, 'b', 0, 1, 9, 1, 2, 'a', 0, 3, 0, 'c', 1, 0, 0})
	f.Add([]byte{0, 2, 'a', 0, 1, 3, 'b', 2, 0, 1, 0, 1, 'z', 0, 0, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		x := oddTree(t, data)
		if x == nil {
			return
		}
		for _, ask := range []func(context.Context, string) ([]Entry, error){x.Lookup, x.Prefix, x.Spellings} {
			for _, key := range []string{"", "a", "b", "zz"} {
				if _, err := ask(t.Context(), key); err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
					t.Fatal(err)
				}
			}
		}
	})
}

// oddTree writes the pages that data describes: level, number of entries, and for each a byte of its term and three that
// are a child, or the form and the end of a list.
func oddTree(t *testing.T, data []byte) *Index {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { client.Close() })
	folder := fmt.Sprintf("mem://odd/%d/", built.Add(1))
	if _, err := client.Mount(ctx, folder); err != nil {
		t.Fatal(err)
	}
	w := &writer{}
	defer w.abort(ctx)
	if err := w.create(ctx, shardwriter.IndexTarget{Store: client, Prefix: folder}); err != nil {
		t.Fatal(err)
	}
	l := list{values: []uint64{1, 2, 5, 5, 9}}
	if err := w.add(ctx, "a", 0, 0, &l); err != nil {
		t.Fatal(err)
	}
	s, err := indexshard.Schema(termsSchema)
	if err != nil {
		t.Fatal(err)
	}
	out, err := indexshard.Create(ctx, client, folder+"odd.amudai.shard", s, indexshard.Options{Profile: encode.Plain})
	if err != nil {
		t.Fatal(err)
	}
	tree := newTree(out, arrowtype.Schema(s), nil)
	for len(data) >= 6 && tree.pages < 64 {
		level, n := int(data[0]%3), 1+int(data[1]%4)
		data = data[2:]
		p := &openPage{}
		for ; n > 0 && len(data) >= 4; n-- {
			at := listAt{field: uint32(data[1]), kind: Kind(data[2] % 4), start: uint64(data[1] % 8), end: uint64(data[3] % 8)}
			p.entries = append(p.entries, pageEntry{term: data[:1], child: uint64(data[1] % 8), lists: []listAt{at}})
			data = data[4:]
		}
		if err := tree.write(ctx, level, p); err != nil {
			t.Fatal(err)
		}
	}
	if tree.pages == 0 {
		out.Abort(ctx)
		return nil
	}
	if err := tree.flush(ctx); err != nil {
		t.Fatal(err)
	}
	terms, err := indexshard.Finish(ctx, out)
	if err != nil {
		t.Fatal(err)
	}
	written, err := w.finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, url := range []string{terms.URL, written[0].URL, written[1].URL} {
			client.Delete(ctx, url, "")
		}
	})
	x := &Index{pages: map[uint64]*page{}}
	if x.terms, err = indexshard.Open(ctx, client, terms.URL, urlresolve.Policy{}); err != nil {
		t.Fatal(err)
	}
	if x.positions, err = indexshard.Open(ctx, client, written[1].URL, urlresolve.Policy{}); err != nil {
		t.Fatal(err)
	}
	return x
}
