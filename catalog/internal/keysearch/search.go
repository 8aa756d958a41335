// Package keysearch finds the rows of a table that have keys of a list: by key indexes, bounds, term filters, and the columns of the key.
package keysearch

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/index"
)

// Search finds the live rows that have keys of a list. A shard never changes, so each is looked into once, however often the
// search runs: after another writer's commit only what that one added is.
type Search struct {
	Key  *rowkey.Key
	Keys *rowkey.List
	// Refuse, if not nil, ends the search at the first row that is found.
	Refuse func(row int64, key []byte) error

	state *tablescan.State
	// seen are the shards that were looked into, with what was found in them, nil for nothing.
	seen map[string]*tablescan.Match
}

// Index opens the key index that reports which shards have which keys, nil if there is none.
type Index func(ctx context.Context) (*keyindex.Index, error)

// Span selects the rows between the first and the last key; nil if there are no keys.
func (s *Search) Span() filter.Expr {
	if len(s.Keys.Batches) == 0 {
		return nil
	}
	return s.Key.Span(s.Keys.Batches[0].Low, s.Keys.Batches[len(s.Keys.Batches)-1].High)
}

// Run looks into those of the live shards with rows of the span that are new to the search, and gives all with rows of the keys.
func (s *Search) Run(ctx context.Context, state *tablescan.State, live []*manifest.Entry, index Index) (found []tablescan.Match, err error) {
	if s.state = state; s.seen == nil {
		s.seen = map[string]*tablescan.Match{}
	}
	var fresh []*manifest.Entry
	for _, e := range live {
		if _, known := s.seen[e.Path]; !known {
			fresh = append(fresh, e)
		}
	}
	if err := s.look(ctx, fresh, index); err != nil {
		return nil, err
	}
	for _, e := range live {
		if m := s.seen[e.Path]; m != nil {
			found = append(found, *m)
		}
	}
	return found, nil
}

// look looks into shards, batch of keys after batch.
func (s *Search) look(ctx context.Context, shards []*manifest.Entry, open Index) (err error) {
	matches := make([]*tablescan.Match, len(shards))
	var index *keyindex.Index
	if len(shards) > FewShards {
		if index, err = open(ctx); err != nil {
			return err
		}
	}
	for i := range s.Keys.Batches {
		if len(shards) == 0 {
			break
		}
		set, err := s.Keys.Load(&s.Keys.Batches[i])
		if err != nil {
			return err
		}
		hits := make([]*keyindex.Hits, len(shards))
		if index != nil {
			if hits, err = index.Lookup(ctx, shards, set.Keys); err != nil {
				return err
			}
		}
		may, err := s.sift(ctx, shards, hits, set)
		if err != nil {
			return err
		}
		err = s.state.Client.EachUpTo(ctx, tablescan.ShardsAtOnce, len(shards), func(ctx context.Context, client *blobio.Client, i int) error {
			err := parallel.Guarded(func() error {
				return s.shard(ctx, client, shards[i], keysOfShard{set, s.left(shards[i], set, may[i], hits[i]), hits[i]}, &matches[i])
			})
			if err != nil {
				return fmt.Errorf("%s: %w", shards[i].Path, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i, e := range shards {
		if m := matches[i]; m != nil {
			m.Whole = m.Rows == e.Records
		}
		s.seen[e.Path] = matches[i]
	}
	return nil
}

// FewShards are looked into without a look at an index first, which would cost as many requests.
const FewShards = 3

// left are the keys of a set that a shard may have: those that a key index names, if it covers the shard, else those that bounds and term filters
// leave.
func (s *Search) left(e *manifest.Entry, set *rowkey.Set, may []bool, hits *keyindex.Hits) (left [][]byte) {
	if hits != nil {
		for _, i := range hits.Keys {
			left = append(left, set.Keys[i])
		}
		return left
	}
	keys := s.possible(e, set)
	if may == nil {
		return keys
	}
	for _, key := range keys {
		if may[set.Find(key)] {
			left = append(left, key)
		}
	}
	return left
}

// sift asks the term filters of shards, where they have some of columns of the key, which keys of a set each shard may have; nil is all. It costs a few
// short reads for each matrix, which shards of one commit share, and spares the roots and indexes of shards that have none of the keys. Shards of which a
// key index has told are not asked about.
func (s *Search) sift(ctx context.Context, shards []*manifest.Entry, hits []*keyindex.Hits, set *rowkey.Set) (may [][]bool, err error) {
	may = make([][]bool, len(shards))
	if len(set.Keys) > keyindex.MostLookedUp {
		return may, nil
	}
	allow, err := s.state.Allowed()
	if err != nil {
		return nil, err
	}
	units, stripes := tablescan.TermFilters(s.state.Schema, shards, allow, func(i int) bool {
		return hits[i] != nil || len(s.possible(shards[i], set)) == 0
	})
	if len(units) == 0 {
		return may, nil
	}
	keys := make([][]filter.Value, len(set.Keys))
	for i, key := range set.Keys {
		keys[i] = s.Key.Values(key)
	}
	found, err := index.PruneKeys(ctx, s.state.Client, s.Key.Columns, keys, units)
	if err != nil {
		return nil, err
	}
	for i, n := range stripes {
		for _, of := range found[:n] {
			if may[i] == nil {
				may[i] = make([]bool, len(keys))
			}
			for k, there := range of {
				may[i][k] = may[i][k] || there
			}
		}
		found = found[n:]
	}
	return may, nil
}

// keysOfShard are the keys of a set that a shard may have, and which of its records have them if a key index has told.
type keysOfShard struct {
	set  *rowkey.Set
	left [][]byte
	hits *keyindex.Hits
}

// shard looks for some keys of a set in a shard: first by what its entry states, then by what its root, its Bloom filters and indexes say, then
// in the columns of the key. Where a key index has told which records have them, only the columns of those are read.
func (s *Search) shard(ctx context.Context, client *blobio.Client, e *manifest.Entry, keys keysOfShard, m **tablescan.Match) error {
	if len(keys.left) == 0 {
		return nil
	}
	p, err := tablescan.New(s.state, []*manifest.Entry{e}, tablescan.ScanOptions{Where: s.Key.Filter(keys.left), Select: []string{}})
	if err != nil || !tablescan.MayMatch(p, e) {
		return err
	}
	if !e.IsShard() {
		return corrupt.Unsupported(-1, "rows of an entry of format %q can't be replaced one by one; compact the table first", e.Format)
	}
	shard, err := s.state.Open(ctx, client, e)
	if err != nil {
		return err
	}
	defer shard.Close()
	in, err := tablescan.NewSearch(ctx, p, shard, func(b arrow.RecordBatch, at int, bitmap []byte) error { return s.mark(b, at, bitmap, keys.set) })
	if err != nil {
		return err
	}
	for i := range shard.Stripes() {
		deleted, n, err := s.stripe(ctx, in, i, keys.hits)
		if err != nil {
			return err
		}
		if n > 0 {
			if *m == nil {
				*m = &tablescan.Match{Path: e.Path, Entry: e, Opened: true, Stripes: map[int][]byte{}}
			}
			(*m).Add(i, deleted, n)
		}
	}
	return nil
}

// stripe looks into a stripe.
func (s *Search) stripe(ctx context.Context, in *tablescan.Search, i int, hits *keyindex.Hits) (deleted []byte, n int64, err error) {
	switch {
	case hits == nil:
		return in.Stripe(ctx, i)
	case len(hits.Rows[i]) == 0:
		return nil, 0, nil
	}
	return in.Records(ctx, i, hits.Rows[i])
}

// possible are the keys of a set that an entry's bounds and partition leave.
func (s *Search) possible(e *manifest.Entry, set *rowkey.Set) [][]byte {
	n := s.Key.Columns[0]
	var low, high []byte
	if stats := s.state.Schema.Stats(e, n.ID); stats != nil {
		if stats.Min != nil {
			low = s.Key.Part(n, stats.Min)
		}
		if stats.Max != nil {
			high = s.Key.Part(n, stats.Max)
		}
	}
	return set.Within(low, high)
}

// mark sets the bits of the rows of a batch that have a key of the set; at is the place of its first row.
func (s *Search) mark(b arrow.RecordBatch, at int, bitmap []byte, set *rowkey.Set) error {
	r, err := s.Key.Reader(b)
	if err != nil {
		return err
	}
	var key []byte
	for i := range int(b.NumRows()) {
		bytes, null := r.Append(key[:0], i)
		if key = bytes; null != nil {
			continue
		}
		place, bit := at+i, byte(1)<<((at+i)%8)
		if bitmap[place/8]&bit != 0 {
			continue // deleted before
		}
		found := set.Find(key)
		if found < 0 {
			continue
		}
		if s.Refuse != nil {
			return s.Refuse(set.Rows[found], key)
		}
		bitmap[place/8] |= bit
	}
	return nil
}
