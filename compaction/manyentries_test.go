package compaction

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// benchTimes are when the records of shard i were created: one shard after another, as a stream of ten thousand a day makes them, or few of
// them near each other, which makes a plan of very many groups.
var benchTimes = map[string]func(i int) manifest.CreationRange{
	"": func(i int) manifest.CreationRange {
		const apart = day / 10_000
		return manifest.CreationRange{First: day + int64(i)*apart, Last: day + int64(i+1)*apart - 1}
	},
	"scattered": func(i int) manifest.CreationRange {
		at := int64(i % 700_000)
		return manifest.CreationRange{First: at * day, Last: at*day + day/2}
	},
}

// benchAppend commits made-up entries, whose manifests are real.
func benchAppend(b testing.TB, t *catalog.Table, from, to int) {
	b.Helper()
	j, _, err := t.BeginJob(ctx, catalog.JobAppend, "", nil, func(string) []string { return []string{t.VaultFolder() + "*"} })
	if err != nil {
		b.Fatal(err)
	}
	created := benchTimes[os.Getenv("SHARDCAT_BENCH_TIMES")]
	if created == nil {
		b.Fatal("SHARDCAT_BENCH_TIMES is scattered or not set")
	}
	var entries []*manifest.Entry
	for i := from; i < to; i++ {
		e := fake(10, 100, 0)
		e.Created = created(i)
		e.Path, e.Format = fmt.Sprintf("%sfake-%032d.amudai.shard", t.VaultFolder(), i), manifest.Format
		id := binary.LittleEndian.AppendUint64(nil, uint64(i))
		e.Columns = map[int]manifest.Column{
			1: {Bytes: 80, Values: 10, Nulls: 0, NaNs: manifest.Unknown, Lower: id, Upper: id},
			2: {Bytes: 90, Values: 10, Nulls: 1, NaNs: manifest.Unknown, Lower: []byte("aaaaaaaaaaaaaaaa"), Upper: []byte("aaaaaaaaaaaaaaab")},
			3: {Bytes: 70, Values: 10, Nulls: 0, NaNs: manifest.Unknown},
		}
		entries = append(entries, e)
	}
	if _, err := j.Append(ctx, entries); err != nil {
		b.Fatal(err)
	}
}
