package compaction_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// lines makes a table of log lines: the words rare and odd are in about one of a hundred each, a word that begins with w is in every line, and
// needle in one.
func (s *slowStore) lines(t *testing.T, rows, shardRows int, indexes string) {
	t.Helper()
	cat, client := s.open(t, 0)
	defer client.Close()
	defer cat.Close()
	of, err := schema.Parse("id: Int64, n: Int64, line: String")
	if err != nil {
		t.Fatal(err)
	}
	o := catalog.CreateOptions{Schema: of, CreateNamespace: true}
	if indexes != "" {
		o.Properties = map[string]string{catalog.IndexesProperty: indexes}
	}
	table, err := cat.Create(t.Context(), stepsTable, o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(of))
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int64Builder).Append(r.Int64N(1 << 40))
		words := []string{fmt.Sprintf("w%04d", r.IntN(5000)), fmt.Sprintf("u%03d", r.IntN(500))}
		for range 8 {
			words = append(words, fmt.Sprintf("%08x", r.Uint32N(1<<12)*2654435761))
		}
		if r.IntN(100) == 0 {
			words = append(words, "rare")
		}
		if r.IntN(100) == 0 {
			words = append(words, "odd")
		}
		if i == rows/2 {
			words = append(words, "needle")
		}
		b.Field(2).(*array.LargeStringBuilder).Append(strings.Join(words, " "))
	}
	if _, err := table.Ingest(t.Context(), &recordSource{schema: of, batch: b.NewRecordBatch()}, catalog.IngestOptions{ShardRows: int64(shardRows)}); err != nil {
		t.Fatal(err)
	}
}

// TestWordsCostNoMoreThanReading: what an index of words saves is never less than a fifth below what it costs, where a request costs as much as a
// mebibyte, as a Client takes it: rows that it names are read in windows, those of small stripes are read without it.
func TestWordsCostNoMoreThanReading(t *testing.T) {
	all := []string{"id", "n", "line"}
	mixed := map[string][]string{"line HASPREFIX 'w00'": all, "line HAS 'rare odd'": {"id"}, "line HASPREFIX 'w'": {"id"}, "line HAS 'needle'": all}
	for _, c := range []struct {
		name            string
		rows, shardRows int
		most, needle    float64 // of the cost without an index: of any scan, and of one that finds a single row
		scans           map[string][]string
	}{
		{"one large shard", 300_000, 300_000, 1.2, 0.6, map[string][]string{
			"line HAS 'rare odd'": {"id"}, "line HAS 'rare'": {"id"}, "line HASPREFIX 'w00'": all, "line HASPREFIX 'w'": {"id"},
			"line HAS 'w0001'": all, "line HASPREFIX 'u0' AND line HAS 'rare'": all, "line HAS 'needle'": all,
		}},
		{"shards of 400 KiB", 100_000, 8000, 1.2, 0.8, mixed},
		{"shards of 1.5 MiB", 200_000, 32_000, 1.2, 1.1, mixed},
		{"shards of 2 MiB", 360_000, 45_000, 1.2, 1.1, mixed},
		{"shards of 4 MiB", 720_000, 90_000, 1.2, 0.8, mixed},
		{"shards of 8 MiB", 1_440_000, 180_000, 1.2, 0.5, mixed},
		{"many small shards", 30_000, 1000, 1.2, 1, map[string][]string{"line HASPREFIX 'w00'": all, "line HAS 'rare odd'": {"id"}, "line HASPREFIX 'w'": {"id"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			with, without := newSlowStore(t), newSlowStore(t)
			with.lines(t, c.rows, c.shardRows, "text:line")
			without.lines(t, c.rows, c.shardRows, "")
			for where, columns := range c.scans {
				got, reading := with.measure(t, scan(where, columns...)), without.measure(t, scan(where, columns...))
				ratio := costOf(got) / costOf(reading)
				t.Logf("%s %v: %.2f: %+v with the index, %+v without", where, columns, ratio, got, reading)
				if got.rows == 0 || got.rows != reading.rows {
					t.Errorf("%s: %d rows with the index, %d without", where, got.rows, reading.rows)
				}
				if ratio > c.most || where == "line HAS 'needle'" && ratio > c.needle {
					t.Errorf("%s %v: %+v with the index, %+v without: %.2f times the cost", where, columns, got, reading, ratio)
				}
			}
		})
	}
}

// costOf is what requests and bytes cost, in requests.
func costOf(n took) float64 { return float64(n.requests) + float64(n.bytes)/(1<<20) }
