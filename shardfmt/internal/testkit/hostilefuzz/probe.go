package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/mutant"
)

// probes is how many columns of a case are sent a request for one of their values.
const probes = 3

// probe requests values that are there, with everything that prunes, and counts the rows that should come.
func (a *attack) probe(r *rand.Rand, v *verdict, m *mutant.Mutant, got *rows) error {
	for range probes {
		c := r.IntN(max(1, int(got.sample.NumCols())))
		if int64(c) >= got.sample.NumCols() {
			return nil
		}
		text := literal(got.sample.Column(c), r.IntN(int(got.sample.NumRows())))
		if text == "" {
			continue
		}
		where := fmt.Sprintf(`"%s" = %s`, strings.ReplaceAll(got.sample.ColumnName(c), `"`, `""`), text)
		want, have, err := a.counts(m.Shard, where)
		if err != nil {
			return err
		}
		if want != have && m.Kind != mutant.KindArtifact { // verify does not build indexes again
			v.fault(faultPruned, "%s: %d rows, %d are there", where, have, want)
		}
	}
	return nil
}

// counts are the rows for which an expression is true: all rows looked at, and with pruning.
func (a *attack) counts(s *mutant.Shard, where string) (want, have int64, err error) {
	ctx := context.Background()
	shard, err := shardfmt.Open(ctx, s.Store(), mutant.URL, shardfmt.OpenOptions{})
	if err != nil {
		return 0, 0, err
	}
	types, err := shard.Project(ctx, nil, false)
	if err != nil {
		return 0, 0, err
	}
	e, err := filter.Parse(where)
	if err != nil {
		return 0, 0, nil // a name that the language can't say
	}
	bound, err := filter.Bind(e, types)
	if err != nil {
		return 0, 0, nil
	}
	o := shardfmt.ScanOptions{MaxMemory: a.memory, Workers: 1}
	for b, err := range shard.Scan(ctx, o) {
		if err != nil {
			return 0, 0, err
		}
		_, n, err := bound.Select(b)
		if err != nil {
			return 0, 0, err
		}
		want += int64(n)
	}
	o.Filter = bound
	for b, err := range shard.Scan(ctx, o) {
		if err != nil {
			return 0, 0, err
		}
		have += b.NumRows()
	}
	return want, have, nil
}

// literal is a value in the language of filters, empty for null and for types that are left out.
func literal(a arrow.Array, i int) string {
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	if a.IsNull(i) {
		return ""
	}
	switch a := a.(type) {
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32:
		return a.ValueStr(i)
	case *array.Float64:
		if f := a.Value(i); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return a.ValueStr(i)
		}
	case *array.LargeString:
		if s := a.Value(i); !strings.ContainsAny(s, "\x00\n") {
			return "'" + strings.ReplaceAll(s, "'", "''") + "'"
		}
	}
	return ""
}
