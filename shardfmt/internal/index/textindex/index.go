package textindex

import (
	"context"
	"sort"
	"sync"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// Index is an opened text index. Safe for concurrent use.
type Index struct {
	collation        Collation
	terms, positions *indexshard.Shard

	mu    sync.Mutex
	pages map[uint64]*page
}

// keptTerms and keptPositions are how much of the ends of the artifacts is read when an index is opened: the levels of the tree above the leaves,
// and the block map of the positions of a stripe.
const keptTerms, keptPositions = 160 << 10, 96 << 10

// keptPages is how many pages of the tree are kept: those nearest to its root are requested first.
const keptPages = 256

// Open opens the index that d describes. base is the object whose folder relative references start at.
func Open(ctx context.Context, st meta.Store, base string, d *metapb.IndexDescriptor, p urlresolve.Policy) (*Index, error) {
	desc, err := Parse(d)
	if err != nil {
		return nil, corrupt.Locate(err, base, 0)
	}
	x := &Index{collation: desc.Collation, pages: make(map[uint64]*page)}
	urls := make([]string, 2)
	for i := range urls {
		if urls[i], err = urlresolve.Resolve(base, d.Artifacts[i].DataRef.GetUrl(), p); err != nil {
			return nil, err
		}
	}
	shards, err := indexshard.OpenAll(ctx, st, urls, []int64{keptTerms, keptPositions}, p)
	if err != nil {
		return nil, err
	}
	x.terms, x.positions = shards[0], shards[1]
	return x, nil
}

// Lookup gives the entries that are equal to a term under the collation of the index, in the order of the index. The
// term is taken as it is; a tokenizer's cut to 128 bytes is the caller's.
func (x *Index) Lookup(ctx context.Context, term string) ([]Entry, error) {
	key := []byte(term)
	return x.find(ctx, key, x.collation, func(t []byte) (in, more bool) {
		in = x.collation.Compare(t, key) == 0
		return in, in
	})
}

// Spellings gives the entries that differ from a term in case only, whatever the collation.
func (x *Index) Spellings(ctx context.Context, term string) ([]Entry, error) {
	key := []byte(term)
	return x.find(ctx, key, CaseInsensitive, func(t []byte) (in, more bool) {
		in = CaseInsensitive.Compare(t, key) == 0
		return in, in
	})
}

// Prefix gives the entries that start with prefix, all of them for an empty one. Entries with the same first
// characters in another case lie between them where the collation preserves case.
func (x *Index) Prefix(ctx context.Context, prefix string) ([]Entry, error) {
	key := []byte(prefix)
	return x.find(ctx, key, CaseInsensitive, func(t []byte) (in, more bool) {
		return x.collation.HasPrefix(t, key), CaseInsensitive.HasPrefix(t, key)
	})
}

// PrefixSpellings gives the entries that start with prefix in any case, whatever the collation.
func (x *Index) PrefixSpellings(ctx context.Context, prefix string) ([]Entry, error) {
	key := []byte(prefix)
	return x.find(ctx, key, CaseInsensitive, func(t []byte) (in, more bool) {
		in = CaseInsensitive.HasPrefix(t, key)
		return in, in
	})
}

// find gives the entries from the first one on that is not below key in an order, while accept wants more.
func (x *Index) find(ctx context.Context, key []byte, order Collation, accept func(t []byte) (in, more bool)) ([]Entry, error) {
	if x.terms.Records() == 0 {
		return nil, nil
	}
	n := x.terms.Records() - 1
	p, err := x.page(ctx, n)
	for err == nil && p.level > 0 {
		level := p.level
		n = p.entries[min(lowerBound(p, key, order), len(p.entries)-1)].child
		if p, err = x.page(ctx, n); err == nil && p.level >= level {
			err = x.terms.Corrupt("page %d of level %d is below one of level %d", n, p.level, level)
		}
	}
	if err != nil {
		return nil, err
	}
	found, err := x.collect(ctx, n, p, lowerBound(p, key, order), accept)
	if err != nil {
		return nil, err
	}
	return x.load(ctx, found)
}

// lowerBound is the first entry of a page that is not below key.
func lowerBound(p *page, key []byte, order Collation) int {
	return sort.Search(len(p.entries), func(i int) bool { return order.Compare(p.entries[i].term, key) >= 0 })
}

// maxFound bounds the lists of an answer: with their places 128 MiB.
const maxFound = 4 << 20

// collect takes entries from entry i of leaf n on, and of the leaves that follow.
func (x *Index) collect(ctx context.Context, n uint64, p *page, i int, accept func(t []byte) (in, more bool)) (out []pageEntry, err error) {
	lists := 0
	for {
		for ; i < len(p.entries); i++ {
			e := p.entries[i]
			in, more := accept(e.term)
			if in {
				out = append(out, e)
				if lists += len(e.lists); lists > maxFound {
					return nil, corrupt.Locate(corrupt.Unsupported(-1, "more than %d matching lists", maxFound), x.terms.URL(), 0)
				}
			}
			if !more {
				return out, nil
			}
		}
		for n++; ; n++ {
			if n >= x.terms.Records() {
				return out, nil
			}
			if p, err = x.page(ctx, n); err != nil {
				return nil, err
			}
			if p.level == 0 {
				break
			}
		}
		i = 0
	}
}

// page reads a page, or remembers it.
func (x *Index) page(ctx context.Context, n uint64) (*page, error) {
	x.mu.Lock()
	p := x.pages[n]
	x.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := readPage(ctx, x.terms, n, x.positions.Records())
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if len(x.pages) < keptPages {
		x.pages[n] = p
	}
	x.mu.Unlock()
	return p, nil
}
