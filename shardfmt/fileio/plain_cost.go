package fileio

import (
	"fmt"
	"math"
	"math/bits"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Arrow arrays share values: a dictionary code, a run, a view and a union offset may each stand for a value of any
// size, so that a few bytes become gigabytes once every row has its own copy. Import makes such copies. plainCost
// bounds their size, and the memory on the way there, before anything is copied.
type plainCost struct {
	// upTo is the bytes that the first i values take as plain ones; it never decreases.
	upTo func(i int) int64
	// fixed is what an import takes whatever its rows are: values of dictionaries and runs are converted as a whole.
	fixed int64
	// sparse: sums are kept for every blockValues-th value only; each call of upTo adds up the rest.
	sparse bool
	// buffers counts the buffers of the array and its children: Arrow repeats their list for each piece of a gather.
	buffers int64
}

// Bytes that an import takes for a value beside its content.
const (
	leafCost = 16
	codeCost = 8
	runCost  = 32
	listCost = 16
	viewCost = 256
)

// Sums of up to denseValues values are kept whole, 8 bytes each; of longer arrays every blockValues-th.
const (
	denseValues = 4 << 20
	blockValues = 64
)

// errCost is an array whose cost would take too long to find out.
var errCost = fmt.Errorf("dictionaries, runs or views of more than %d values are nested in one another", denseValues)

// between is the cost of the values [i, j).
func (c *plainCost) between(i, j int) int64 { return c.upTo(j) - c.upTo(i) }

func (c *plainCost) total(n int) int64 { return add(c.fixed, c.upTo(n)) }

// add and times stop at the largest number.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if high, low := bits.Mul64(uint64(a), uint64(b)); high == 0 && low <= math.MaxInt64 {
		return int64(low)
	}
	return math.MaxInt64
}

// each is the cost of values of one size.
func each(size int64) plainCost {
	return plainCost{upTo: func(i int) int64 { return times(int64(i), size) }}
}

// summed sums up the cost of n values, which at gives one by one from the costs of below.
func summed(n int, below plainCost, at func(i int) int64) (plainCost, error) {
	out := plainCost{fixed: below.fixed, buffers: below.buffers}
	step := 1
	if n > denseValues {
		if below.sparse {
			return out, errCost
		}
		step, out.sparse = blockValues, true
	}
	sums, sum := make([]int64, 0, n/step+1), int64(0)
	for i := range n {
		if i%step == 0 {
			sums = append(sums, sum)
		}
		sum = add(sum, at(i))
	}
	if n%step == 0 {
		sums = append(sums, sum)
	}
	out.sparse = out.sparse || below.sparse
	out.upTo = func(i int) int64 {
		sum := sums[i/step]
		for j := i - i%step; j < i; j++ {
			sum = add(sum, at(j))
		}
		return sum
	}
	return out, nil
}

// costOf is the cost of an array that arrowtype.Validate passes.
func costOf(a arrow.Array) (plainCost, error) {
	c, err := costOfValues(a)
	for _, b := range a.Data().Buffers() {
		if b != nil {
			c.buffers++
		}
	}
	return c, err
}

func costOfValues(a arrow.Array) (plainCost, error) {
	switch a := a.(type) {
	case *array.Null:
		return each(1), nil
	case array.ExtensionArray:
		return costOf(a.Storage())
	case *array.Dictionary:
		return costOfCodes(a)
	case *array.RunEndEncoded:
		return costOfRuns(a)
	case array.ViewLike:
		return summed(a.Len(), plainCost{}, func(i int) int64 {
			if a.IsNull(i) {
				return leafCost
			}
			return leafCost + int64(a.ValueHeader(i).Len())
		})
	case *array.Struct:
		return costOfMembers(a.NumField(), a.Field)
	case *array.SparseUnion:
		return costOfMembers(a.NumFields(), a.Field)
	case *array.DenseUnion:
		return costOfVariants(a)
	case *array.ListView, *array.LargeListView:
		return costOfListViews(a.(array.ListLike))
	case array.ListLike:
		return costOfLists(a)
	case array.BinaryLike:
		if a.Len() == 0 {
			return each(0), nil
		}
		return plainCost{upTo: func(i int) int64 {
			if i == 0 {
				return 0
			}
			return leafCost*int64(i) + a.ValueOffset64(i-1) + int64(a.ValueLen(i-1)) - a.ValueOffset64(0)
		}}, nil
	}
	width := int64(leafCost)
	if t, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		width = max(width, int64(t.Bytes()))
	}
	return each(width), nil
}

// costOfCodes: any code may have a value of any size, and an import converts the whole dictionary.
func costOfCodes(a *array.Dictionary) (plainCost, error) {
	values, err := costOf(a.Dictionary())
	if err != nil {
		return values, err
	}
	entries := a.Dictionary().Len()
	values.fixed = values.total(entries)
	if a.Len() > entries { // most often a bound by the largest value is small enough, and there are no sums to make
		largest := int64(0)
		for v := range entries {
			largest = max(largest, values.between(v, v+1))
		}
		if times(largest, int64(a.Len())) <= importBytes {
			out := each(codeCost + largest)
			out.fixed, out.buffers = values.fixed, values.buffers
			return out, nil
		}
	}
	return summed(a.Len(), values, func(i int) int64 {
		if a.IsNull(i) {
			return codeCost
		}
		v := a.GetValueIndex(i)
		return add(codeCost, values.between(v, v+1))
	})
}

// costOfRuns: a run has any number of values, which are found in it by their number.
func costOfRuns(a *array.RunEndEncoded) (plainCost, error) {
	values, err := costOf(a.Values())
	if err != nil {
		return values, err
	}
	values.fixed = values.total(a.Values().Len())
	ends, err := runEnds(a)
	if err != nil {
		return values, err
	}
	one := func(run int) int64 { return add(runCost, values.between(run, run+1)) }
	runs, err := summed(ends.len, values, func(run int) int64 {
		start := int64(0)
		if run > 0 {
			start = ends.at(run - 1)
		}
		return times(ends.at(run)-start, one(run))
	})
	if err != nil {
		return runs, err
	}
	// upTo counts from the first value of the runs, the array's begin at its offset.
	upTo := func(i int64) int64 {
		run := sort.Search(ends.len, func(run int) bool { return ends.at(run) >= i })
		if run == ends.len || i == 0 {
			return runs.upTo(run)
		}
		start := int64(0)
		if run > 0 {
			start = ends.at(run - 1)
		}
		return add(runs.upTo(run), times(i-start, one(run)))
	}
	offset := int64(a.Offset())
	before := upTo(offset)
	out := runs
	out.upTo = func(i int) int64 { return upTo(offset+int64(i)) - before }
	return out, nil
}

type ends struct {
	len int
	at  func(run int) int64
}

func runEnds(a *array.RunEndEncoded) (ends, error) {
	switch e := a.RunEndsArr().(type) {
	case *array.Int16:
		return ends{e.Len(), func(i int) int64 { return int64(e.Value(i)) }}, nil
	case *array.Int32:
		return ends{e.Len(), func(i int) int64 { return int64(e.Value(i)) }}, nil
	case *array.Int64:
		return ends{e.Len(), e.Value}, nil
	}
	return ends{}, fmt.Errorf("run ends of type %s", a.RunEndsArr().DataType())
}

// costOfMembers is that of a struct or a sparse union, whose members have a value for each of its own.
func costOfMembers(members int, member func(i int) arrow.Array) (plainCost, error) {
	var parts []plainCost
	out := plainCost{}
	for i := range members {
		m := member(i)
		c, err := costOf(m)
		if err != nil {
			return c, err
		}
		parts = append(parts, c)
		out.fixed, out.buffers, out.sparse = add(out.fixed, c.fixed), out.buffers+c.buffers, out.sparse || c.sparse
	}
	out.upTo = func(i int) int64 {
		sum := int64(i)
		for _, c := range parts {
			sum = add(sum, c.upTo(i))
		}
		return sum
	}
	return out, nil
}

// costOfVariants: offsets of a dense union may repeat values.
func costOfVariants(a *array.DenseUnion) (plainCost, error) {
	variants, all := make([]plainCost, a.NumFields()), plainCost{}
	for i := range variants {
		c, err := costOf(a.Field(i))
		if err != nil {
			return c, err
		}
		variants[i] = c
		all.fixed = add(all.fixed, c.total(a.Field(i).Len()))
		all.buffers, all.sparse = all.buffers+c.buffers, all.sparse || c.sparse
	}
	return summed(a.Len(), all, func(i int) int64 {
		at := int(a.ValueOffset(i))
		return add(leafCost, variants[a.ChildID(i)].between(at, at+1))
	})
}

// costOfListViews: views of lists may overlap, and are gathered into pieces.
func costOfListViews(a array.ListLike) (plainCost, error) {
	items, err := costOf(a.ListValues())
	if err != nil {
		return items, err
	}
	piece := viewCost + 16*items.buffers
	return summed(a.Len(), items, func(i int) int64 {
		if a.IsNull(i) {
			return listCost
		}
		start, end := a.ValueOffsets(i)
		return add(piece, items.between(int(start), int(end)))
	})
}

// costOfLists: lists stand one after the other, so that the cost of the first ones is that of their items.
func costOfLists(a array.ListLike) (plainCost, error) {
	items, err := costOf(a.ListValues())
	if err != nil || a.Len() == 0 {
		return items, err
	}
	upTo := items.upTo
	first, _ := a.ValueOffsets(0)
	before := upTo(int(first))
	items.upTo = func(i int) int64 {
		if i == 0 {
			return 0
		}
		_, end := a.ValueOffsets(i - 1)
		return add(listCost*int64(i), upTo(int(end))-before)
	}
	return items, nil
}

// batchCost is the cost of the rows of a batch.
func batchCost(batch arrow.RecordBatch) (plainCost, error) {
	return costOfMembers(int(batch.NumCols()), batch.Column)
}

// storedBytes bounds the memory that a batch itself takes, without its dictionaries.
func storedBytes(data arrow.ArrayData) (n int64) {
	for _, b := range data.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, c := range data.Children() {
		n += storedBytes(c)
	}
	return n
}

// unpacking decides how many rows of a batch are imported together, and how much a source may become in all.
type unpacking struct {
	// limit bounds one import.
	limit int64
	// plain is what was imported so far, stored what its batches took.
	plain, stored int64

	// batch is kept for rows, which look into it; at is its first row that was not imported.
	batch arrow.RecordBatch
	rows  plainCost
	at    int
}

// Import makes plain values of encoded ones, for which it needs memory that the file didn't.
const (
	importRows  = 1 << 16
	importBytes = 64 << 20
	// freePlain times the limit, and most times what batches take, is what rows may become in all: work that a few
	// bytes request, and that no memory bounds.
	freePlain, mostPlain = 16, 512
)

// begin takes a new batch.
func (u *unpacking) begin(batch arrow.RecordBatch) (err error) {
	u.end()
	batch.Retain()
	u.batch, u.at = batch, 0
	if u.rows, err = batchCost(batch); err != nil {
		return damaged(err)
	}
	if u.rows.fixed > u.limit {
		return u.tooLarge("dictionaries and runs", u.rows.fixed)
	}
	for _, c := range batch.Columns() {
		u.stored = add(u.stored, storedBytes(c.Data()))
	}
	return nil
}

// end lets go of the last batch.
func (u *unpacking) end() {
	if u.batch != nil {
		u.batch.Release()
		u.batch = nil
	}
}

// next is how many of the rows that are left, n, are imported together.
func (u *unpacking) next(n int) (int, error) {
	n = min(n, importRows)
	most := min(importBytes, u.limit/4)
	rows := max(1, sort.Search(n, func(i int) bool { return u.rows.between(u.at, u.at+i+1) > most }))
	cost := u.rows.between(u.at, u.at+rows)
	if cost > u.limit {
		return 0, u.tooLarge("one record", cost)
	}
	u.at += rows
	u.plain = add(u.plain, cost)
	if allowed := add(times(freePlain, u.limit), times(mostPlain, u.stored)); u.plain > allowed {
		return 0, damaged(fmt.Errorf("%d bytes of batches expand to %d bytes of values, more than the limit of %d; raise the limit with --max-memory", u.stored, u.plain, allowed))
	}
	return rows, nil
}

func (u *unpacking) tooLarge(what string, cost int64) error {
	return damaged(fmt.Errorf("%s of %d bytes after decompression, more than the limit of %d; raise the limit with --max-memory", what, cost, u.limit))
}
