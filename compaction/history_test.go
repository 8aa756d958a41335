package compaction

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/manifest"
)

// history is a table that gets a shard a minute and is compacted from time to time, as far as entries tell: what a plan says is
// taken for done.
type history struct {
	policy Policy
	live   map[string]*aged
	made   int
	// written are bytes of data as appended, moved those read and written again, metadata those of roots copied.
	written, moved, metadata int64
	most, plans              int
	groups                   map[Mode]int
}

// aged is a shard whose oldest record was rewritten so often.
type aged struct {
	*manifest.Entry
	rewritten int
}

func newHistory(p Policy) *history {
	return &history{policy: p, live: map[string]*aged{}, groups: map[Mode]int{}}
}

func (h *history) add(e *manifest.Entry, rewritten int) {
	h.made++
	e.Path, e.Format, e.Sequence = fmt.Sprintf("vault/%08d", h.made), manifest.Format, int64(h.made)
	h.live[e.Path] = &aged{e, rewritten}
}

// append adds what arrived in a minute.
func (h *history) append(minute int64, records, bytes int64) {
	const length = 60 * ticksPerSecond
	h.add(&manifest.Entry{Records: records, RootBytes: 2000, Private: manifest.Private{
		Created: manifest.CreationRange{First: minute * length, Last: (minute+1)*length - 1}, Stripes: 1, MetadataBytes: 1500, StoredBytes: bytes, Objects: 2,
	}}, 0)
	h.written += bytes
}

// compact plans and does what the plan says.
func (h *history) compact() {
	p := planner{
		policy: h.policy.forTable(0), capped: map[string]int{}, vault: "vault/", classes: map[string]*class{}, selection: &selection{},
		plan: &Plan{Left: map[string]int{}}, fields: 10,
	}
	h.plans++
	for _, path := range slices.Sorted(maps.Keys(h.live)) {
		p.sort(h.live[path].Entry)
	}
	for _, key := range slices.Sorted(maps.Keys(p.classes)) {
		p.group(p.classes[key])
	}
	for i := range p.plan.Groups {
		h.do(&p.plan.Groups[i])
	}
}

// do puts a group's output in the place of its inputs.
func (h *history) do(g *Group) {
	h.groups[g.Mode]++
	h.moved += g.BytesMoved
	h.metadata += g.MetadataBytes
	out, rewritten := &manifest.Entry{Records: g.Records}, 0
	for i, path := range g.Inputs {
		in := h.live[path]
		delete(h.live, path)
		rewritten = max(rewritten, in.rewritten)
		if i == 0 {
			out.Created = in.Created
		}
		out.Created = out.Created.Union(in.Created)
		out.Stripes += in.Stripes
		out.Objects += in.Objects - 1
		out.StoredBytes += in.StoredBytes
		out.MetadataBytes += in.MetadataBytes
	}
	switch g.Mode {
	case Concat:
		out.Objects++
	case Pack:
		out.Objects, rewritten = 2, rewritten+1
	default:
		out.Stripes = stripesOf(out.Records)
		out.Objects, out.MetadataBytes, rewritten = out.Stripes+1, 1500*out.Stripes, rewritten+1
	}
	out.RootBytes = out.MetadataBytes + 500
	h.add(out, rewritten)
}

// mostRewritten is how often the record was rewritten that was most often.
func (h *history) mostRewritten() (n int) {
	for _, s := range h.live {
		n = max(n, s.rewritten)
	}
	return n
}

// TestHistoryOfMinutes appends a shard a minute and compacts every ten minutes, for a month, or a year (SHARDCAT_FULL): how often a
// record is rewritten depends on what arrives within max-creation-range, and besides one shard a day, which that asks for, there are few.
func TestHistoryOfMinutes(t *testing.T) {
	days := int64(30)
	switch {
	case os.Getenv("SHARDCAT_FULL") != "":
		days = 365
	case testing.Short():
		days = 7
	}
	for _, load := range []struct{ records, bytes int64 }{{100, 10_000}, {10_000, 1_000_000}, {200_000, 20_000_000}} {
		h := newHistory(Policy{})
		for minute := range days * 24 * 60 {
			h.append(minute, load.records, load.bytes)
			if minute%10 == 9 {
				h.compact()
				h.most = max(h.most, len(h.live)) // by day a shard of 24 hours, and what the open one consists of
			}
		}
		day := load.bytes * 24 * 60
		perDay := 1 + int(day/DefaultTargetSize) + int(load.records*24*60/DefaultTargetRecords)
		t.Logf("%d appends of %d records: %d shards, %d at most; every record rewritten %d times at most, %.2f bytes written for each, and %.3f of metadata; %v",
			days*24*60, load.records, len(h.live), h.most, h.mostRewritten(), float64(h.written+h.moved)/float64(h.written), float64(h.metadata)/float64(h.written), h.groups)
		// A shard takes in what is new by concatenation, and is written anew each time it has RebuildStripes stripes.
		if n, most := h.mostRewritten(), 24*60/(DefaultRebuildStripes-1)+1; n > most {
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
	for _, s := range h.live {
		n += s.Records
	}
	return n
}
