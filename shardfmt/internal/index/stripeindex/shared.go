package stripeindex

import (
	"context"
	"encoding/binary"
	"math"
	"sort"
	"sync"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// Shared asks the indexes of a shard as a whole. Each question is answered once, for all stripes. Safe for concurrent use; a nil one knows
// nothing.
type Shared struct {
	mu      sync.Mutex
	reader  *Reader
	answers map[string]answer
	bytes   int // of answers
}

// answer is what the indexes reported to a question: rows of the shard.
type answer struct {
	rows  []filter.Range
	known bool
}

// mostAnswers bounds the bytes of answers that are kept.
const mostAnswers = 64 << 20

// Asked is a shard whose indexes are asked, and the fields that the questions are about.
type Asked struct {
	Root   *meta.Root
	Fields []uint32
	Policy urlresolve.Policy
}

// NewShared finds the indexes of a shard that may be relied on, also those in the descriptions of fields; nil if it has none.
func NewShared(ctx context.Context, st meta.Store, of Asked) (*Shared, error) {
	root := of.Root
	c, err := root.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	r := &Reader{store: st, root: root, policy: of.Policy, records: root.Directory().TotalRecordCount}
	scoped := func(d *metapb.IndexDescriptor) bool { return ofWhole(d, r.records) }
	err = r.add(c, root.URL(), scoped)
	for _, id := range of.Fields {
		if err == nil {
			err = r.add(root.ShardFieldIndexes(ctx, id), root.URL(), ofField(id, scoped))
		}
	}
	if err != nil || len(r.usable) == 0 {
		return nil, err
	}
	return &Shared{reader: r, answers: map[string]answer{}}, nil
}

// ofWhole reports whether an index counts over a shard, which has as many records now as when it was built.
func ofWhole(d *metapb.IndexDescriptor, records uint64) bool {
	bag := meta.Properties(d.Properties)
	n, ok := meta.Uint64Of(bag.Get(propertyRecords))
	return ok && n == records && bag.Get(propertyBase) == nil && scopeOf(d) == OfShard
}

// Covers reports whether the indexes alone may answer a filter, so that term filters have nothing to add.
func (s *Shared) Covers(f *filter.Bound) bool {
	if s == nil {
		return false
	}
	all := []filter.Range{{Start: 0, End: 1}}
	_, known, _ := f.Candidates(func(q filter.Question) ([]filter.Range, bool, error) { return all, s.covers(q), nil })
	return known
}

func (s *Shared) covers(q filter.Question) bool {
	for _, u := range s.reader.usable {
		if q.Kind == filter.All {
			if len(u.starting(q.Parts)) > 1 {
				return true
			}
		} else if u.covers(q.Path[len(q.Path)-1]) != nil && (q.Kind != filter.Within || u.d.IndexType == layerindex.Type) {
			return true
		}
	}
	return false
}

// rows answers a question with rows of the shard. Requests are made through st.
func (s *Shared) rows(ctx context.Context, st meta.Store, q filter.Question) ([]filter.Range, bool, error) {
	if s == nil || !s.covers(q) {
		return nil, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOfQuestion(q)
	if a, ok := s.answers[key]; ok {
		return a.rows, a.known, nil
	}
	s.reader.store = st
	ask := s.reader.rows
	if q.Kind == filter.All {
		ask = s.reader.together
	}
	rows, known, err := ask(ctx, q)
	if err != nil {
		return nil, false, err
	}
	if s.bytes+16*len(rows) <= mostAnswers {
		s.bytes += 16 * len(rows)
		s.answers[key] = answer{rows, known}
	}
	return rows, known, nil
}

// keyOfQuestion reports questions of values and terms apart.
func keyOfQuestion(q filter.Question) string {
	key := []byte{byte(q.Kind), bit(q.LowOut) | bit(q.HighOut)<<1 | bit(q.Joined)<<2}
	text := func(b []byte) { key = append(binary.AppendUvarint(key, uint64(len(b))), b...) }
	if q.Kind == filter.All {
		for i := range q.Parts {
			text([]byte(keyOfQuestion(q.Parts[i])))
		}
		return string(key)
	}
	key = binary.AppendUvarint(key, uint64(q.Path[len(q.Path)-1].ID))
	text(q.Text)
	value := func(v *filter.Value) {
		if v == nil {
			key = append(key, 2)
			return
		}
		key = append(key, bit(v.Bool))
		for _, n := range []uint64{uint64(v.Int), v.Uint, math.Float64bits(v.Float)} {
			key = binary.BigEndian.AppendUint64(key, n)
		}
		text(v.Bytes)
	}
	value(q.Low)
	value(q.High)
	for i := range q.Values {
		value(&q.Values[i])
	}
	return string(key)
}

func bit(v bool) byte { return byte(boolKey(v)) }

// within are the rows of a stripe, from first on, among those of the shard.
func within(rows []filter.Range, first, records uint64) []filter.Range {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].End > first })
	n := sort.Search(len(rows), func(i int) bool { return rows[i].Start >= first+records })
	if i >= n {
		return nil
	}
	out := ranges.Intersect(rows[i:n], []filter.Range{{Start: first, End: first + records}})
	for k := range out {
		out[k].Start, out[k].End = out[k].Start-first, out[k].End-first
	}
	return out
}
