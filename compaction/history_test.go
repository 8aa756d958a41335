package compaction

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// history is a table that gets a shard a minute and is compacted from time to time, as far as entries show: what a plan states is
// taken for done.
type history struct {
	policy Policy
	live   map[string]*aged
	made   int
	// written are bytes of data as appended, moved those read and written again, copied those packed, metadata those of roots copied.
	written, moved, copied, metadata int64
	objects                          int
	most, plans                      int
	// closed counts shards, of so many records, that no plan will take again: they have their target.
	closed        int
	closedRecords int64
	rewritten     int // the most in them
	groups        map[Mode]int
}

// aged is a shard whose oldest record was rewritten so often.
type aged struct {
	*manifest.Entry
	stripes []agedStripe
}

// agedStripe has records of which one was rewritten so often.
type agedStripe struct {
	records   int64
	rewritten int
	// object that it lies in, 0 for a new one, and how often it was copied.
	object, copied int
}

func newHistory(p Policy) *history {
	return &history{policy: p, live: map[string]*aged{}, groups: map[Mode]int{}}
}

// add adds a shard with its stripes, created at a time, of so many bytes a record.
func (h *history) add(stripes []agedStripe, created manifest.CreationRange, bytes int64) {
	h.made++
	e := &manifest.Entry{Path: fmt.Sprintf("vault/%08d", h.made), Format: manifest.Format, Sequence: int64(h.made)}
	objects, ranges := map[int]bool{}, int64(0)
	for i := range stripes {
		s := &stripes[i]
		if e.Records += s.records; s.object == 0 {
			h.objects++
			s.object = h.objects
		}
		if objects[s.object] = true; i == 0 || s.object != stripes[i-1].object {
			ranges++
		}
	}
	n, data := int64(len(stripes)), int64(len(objects))
	e.Private = manifest.Private{Created: created, Stripes: n, MetadataBytes: 1500 * n, StoredBytes: bytes * e.Records, Objects: data + 1, DataObjects: data, ColumnRanges: ranges}
	e.RootBytes = e.MetadataBytes + 500
	h.live[e.Path] = &aged{e, stripes}
}

// append adds what arrived in a minute.
func (h *history) append(minute int64, records, bytes int64) {
	const length = 60 * ticksPerSecond
	h.add([]agedStripe{{records: records}}, manifest.CreationRange{First: minute * length, Last: (minute+1)*length - 1}, bytes/records)
	h.written += bytes
}

// compact plans and does what the plan states.
func (h *history) compact() {
	p := planner{
		policy: h.policy.forTable(0), capped: map[string]int{}, kept: &candidates{vault: "vault/"}, classes: map[string]*class{}, selection: &selection{},
		plan: &Plan{Left: map[string]int{}},
	}
	h.plans++
	for _, path := range slices.Sorted(maps.Keys(h.live)) {
		e := h.live[path].Entry
		if why := p.unfit(e, p.needOf(ctx, e)); why == hasRecords || why == hasSize {
			h.closed, h.closedRecords = h.closed+1, h.closedRecords+e.Records
			h.rewritten = max(h.rewritten, h.live[path].rewritten())
			delete(h.live, path)
			continue
		}
		p.sort(ctx, e)
	}
	for _, key := range slices.Sorted(maps.Keys(p.classes)) {
		p.group(p.classes[key])
	}
	for i := range p.plan.Groups {
		h.do(&p.plan.Groups[i])
	}
}

// do puts a group's outputs in the place of its inputs.
func (h *history) do(g *Group) {
	h.groups[g.Mode]++
	h.metadata += g.MetadataBytes
	var stripes []agedStripe
	paths := g.Inputs.Paths()
	created := h.live[paths[0]].Created
	for _, path := range paths {
		in := h.live[path]
		delete(h.live, path)
		created, stripes = created.Union(in.Created), append(stripes, in.stripes...)
	}
	bytes := g.Bytes / g.Records
	if g.Mode == Pack {
		h.pack(stripes, bytes)
	}
	if g.Mode != Rebuild {
		h.add(stripes, created, bytes)
		return
	}
	slices.SortFunc(stripes, func(a, b agedStripe) int { return int(a.records - b.records) })
	sizes := make([]int64, len(stripes))
	for i, s := range stripes {
		sizes[i] = s.records
	}
	count := smallest(sizes)
	if count < len(stripes) {
		h.add(stripes[count:], created, bytes)
	}
	records, rewritten := int64(0), 0
	for _, s := range stripes[:count] {
		records, rewritten = records+s.records, max(rewritten, s.rewritten)
	}
	h.moved += records * bytes
	var made []agedStripe
	for ; records > 0; records -= made[len(made)-1].records {
		made = append(made, agedStripe{records: min(records, shardfmt.DefaultStripeRows), rewritten: rewritten + 1})
	}
	h.add(made, created, bytes)
}

// pack copies what merge.Pack would of some stripes, of so many bytes a record, into one object.
func (h *history) pack(stripes []agedStripe, bytes int64) {
	sizes := map[int]int64{}
	for _, s := range stripes {
		sizes[s.object] += s.records * bytes
	}
	objects := slices.SortedFunc(maps.Keys(sizes), func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	bySize := make([]int64, len(objects))
	for i, object := range objects {
		bySize[i] = sizes[object]
	}
	moves := objects[:merge.PackCount(bySize)]
	h.objects++
	for i := range stripes {
		if s := &stripes[i]; slices.Contains(moves, s.object) {
			h.copied += s.records * bytes
			s.object, s.copied = h.objects, s.copied+1
		}
	}
}

// mostRewritten is how often the record was rewritten that was most often.
func (h *history) mostRewritten() (n int) {
	n = h.rewritten
	for _, shard := range h.live {
		n = max(n, shard.rewritten())
	}
	return n
}

func (s *aged) rewritten() (n int) {
	for _, stripe := range s.stripes {
		n = max(n, stripe.rewritten)
	}
	return n
}

// TestHistoryOfMinutes appends a shard a minute and compacts every ten minutes, for a month, or a year (SHARDCAT_FULL): how often a
// record is rewritten depends on what arrives within max-creation-range, and besides one shard a day, which that requires, there are few.
func TestHistoryOfMinutes(t *testing.T) {
	days := int64(30)
	switch {
	case os.Getenv("SHARDCAT_FULL") != "":
		days = 365
	case testing.Short():
		days = 7
	}
	for _, load := range []struct {
		records, bytes int64
		policy         Policy
	}{
		{100, 10_000, Policy{}}, {10_000, 1_000_000, Policy{}}, {200_000, 20_000_000, Policy{}}, {100, 10_000, Policy{MaxCreationRange: -1}},
	} {
		h := newHistory(load.policy)
		for minute := range days * 24 * 60 {
			h.append(minute, load.records, load.bytes)
			if minute%10 == 9 {
				h.compact()
				h.most = max(h.most, h.closed+len(h.live)) // by day a shard of 24 hours, and what the open one consists of
			}
		}
		day := load.bytes * 24 * 60
		perDay := 1 + int(day/defaultTargetSize) + int(load.records*24*60/defaultTargetRecords)
		t.Logf("%d appends of %d records: %d shards, %d at most; every record rewritten %d times at most, %.2f bytes written for each, %.2f copied, and %.3f of metadata; %v",
			days*24*60, load.records, h.closed+len(h.live), h.most, h.mostRewritten(), float64(h.written+h.moved)/float64(h.written), float64(h.copied)/float64(h.written), float64(h.metadata)/float64(h.written), h.groups)
		// A stripe is rewritten into one stripeGrowth times as large, up to a full one.
		promised := 1 + int(math.Log(float64(min(load.records*24*60*days, shardfmt.DefaultStripeRows))/float64(load.records))/math.Log(stripeGrowth))
		if n, most := h.mostRewritten(), promised; n > most {
			t.Errorf("a record was rewritten %d times, %d at most are promised", n, most)
		}
		if bound := int(days+1)*2*perDay + 10; h.most > bound {
			t.Errorf("%d shards, %d at most by the policy", h.most, bound)
		}
		if records := h.records(); records != load.records*days*24*60 {
			t.Errorf("%d records", records)
		}
		if h.plans != int(days*24*6) {
			t.Errorf("%d plans", h.plans)
		}
	}
}

func (h *history) records() (n int64) {
	n = h.closedRecords
	for _, s := range h.live {
		n += s.Records
	}
	return n
}
