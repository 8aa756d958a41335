package vparquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// shredder cuts the values of a leaf into pages. The cuts depend on the rows alone, not on how they come in batches.
type shredder struct {
	leaf *leaf
	page *page
	// next takes the row by which the page would be too large.
	next *page
	// emit takes a full page, which is used again afterwards.
	emit func(*page) error
	// most is the most bytes of the values of a page of several rows, limit that of any page.
	most, limit int

	// cols are the arrays of the steps, lists those of their offsets and unions those of their variants.
	cols   []arrow.Array
	ranges []func(i int) (start, end int64)
	unions []arrowtype.Union
	values arrow.Array
	// value appends a value, many those of fixed size of a range, nulls too.
	value func(dst []byte, i int) []byte
	many  func(dst []byte, i, j int) []byte
	// extent is an upper bound of the bytes of a range of byte strings that are appended as they are.
	extent func(i, j int) int64
	err    error
}

func newShredder(l *leaf, most, limit int, emit func(*page) error) *shredder {
	n := len(l.steps)
	return &shredder{leaf: l, page: &page{leaf: l}, next: &page{leaf: l}, emit: emit, most: most, limit: limit,
		cols: make([]arrow.Array, n), ranges: make([]func(int) (int64, int64), n), unions: make([]arrowtype.Union, n)}
}

// add appends the rows of a column.
func (s *shredder) add(column arrow.Array) error {
	if err := s.bind(column); err != nil {
		return err
	}
	most := s.leaf.rowsPerPage()
	for i := 0; i < column.Len(); {
		n := min(column.Len()-i, most-s.page.rows)
		if s.fits(i, i+n) {
			s.flat(i, i+n)
		} else {
			n = 1
			if err := s.row(i); err != nil {
				return err
			}
		}
		if i += n; s.page.rows == most {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return s.err
}

// finish writes the last page.
func (s *shredder) finish() error {
	if s.page.rows == 0 {
		return nil
	}
	return s.flush()
}

func (s *shredder) flush() error {
	if s.err != nil {
		return s.err
	}
	if s.page.size() > maxPage {
		return corrupt.Unsupported(-1, "column %q: a row of %d bytes, too large for a page of Parquet", s.leaf.column, len(s.page.values))
	}
	err := s.emit(s.page)
	s.page.reset()
	return err
}

// row appends a row. One that would make the page too large begins the next one.
func (s *shredder) row(i int) error {
	before := s.page.mark()
	s.put(0, i, 0, 0)
	s.page.rows++
	if len(s.page.values) > s.limit {
		return fmt.Errorf("column %q: a page of %d bytes: %w", s.leaf.column, len(s.page.values), shardfmt.ErrBudget)
	}
	if len(s.page.values) > s.most && before.rows > 0 {
		s.page.moveTail(before, s.next)
		if err := s.flush(); err != nil {
			return err
		}
		s.page, s.next = s.next, s.page
	}
	return s.err
}

// fits reports whether rows are values without nesting that don't make the page too large.
func (s *shredder) fits(i, j int) bool {
	if len(s.leaf.steps) > 0 || s.many == nil && s.extent == nil {
		return false
	}
	return s.many != nil || int64(len(s.page.values))+s.extent(i, j) <= int64(min(s.most, s.limit))
}

// ones are the levels of rows without nulls.
var ones = bytes.Repeat([]byte{1}, pageRows)

// flat appends rows of a column without steps.
func (s *shredder) flat(i, j int) {
	p := s.page
	p.rows += j - i
	p.entries += j - i
	if s.many != nil && s.values.NullN() == 0 {
		p.defs = append(p.defs, ones[:j-i]...)
		p.values, p.valid = s.many(p.values, i, j), p.valid+j-i
		return
	}
	for ; i < j; i++ {
		if s.values.IsNull(i) {
			p.defs = append(p.defs, 0)
			continue
		}
		p.defs = append(p.defs, 1)
		p.values, p.valid = s.value(p.values, i), p.valid+1
	}
}

// entry appends the levels of an entry.
func (s *shredder) entry(def, rep uint8) {
	p := s.page
	p.entries++
	p.defs = append(p.defs, def)
	if s.leaf.maxRep > 0 {
		p.reps = append(p.reps, rep)
	}
}

// put appends what slot i of the array of step k holds.
func (s *shredder) put(k, i int, def, rep uint8) {
	if k == len(s.leaf.steps) {
		s.putValue(i, def, rep)
		return
	}
	switch st := &s.leaf.steps[k]; st.kind {
	case stepStruct:
		if s.cols[k].IsNull(i) {
			s.entry(def, rep)
			return
		}
		s.put(k+1, i, def+1, rep)
	case stepUnion:
		s.putVariant(k, i, def, rep)
	default:
		if s.cols[k].IsNull(i) {
			s.entry(def, rep)
			return
		}
		start, end := s.ranges[k](i)
		if start >= end {
			s.entry(def+1, rep)
			return
		}
		for j := start; j < end; j++ {
			s.put(k+1, int(j), def+2, rep)
			rep = st.rep
		}
	}
}

// putVariant appends a slot of a union: a struct of which one member is set, or null if the chosen variant is.
func (s *shredder) putVariant(k, i int, def, rep uint8) {
	u := &s.unions[k]
	chosen := u.Variant(i)
	switch {
	case arrowtype.IsNull(u.Fields[chosen], i):
		s.entry(def, rep)
	case chosen != s.leaf.steps[k].child:
		s.entry(def+1, rep)
	default:
		s.put(k+1, i, def+1, rep)
	}
}

func (s *shredder) putValue(i int, def, rep uint8) {
	if s.values.IsNull(i) {
		if s.leaf.required && s.err == nil {
			s.err = corrupt.Unsupported(-1, "column %q: a map with a null key, which Parquet does not support", s.leaf.column)
		}
		s.entry(def, rep)
		return
	}
	s.entry(s.leaf.maxDef, rep)
	s.page.values = s.value(s.page.values, i)
	s.page.valid++
}

// bind finds the arrays of a batch's column.
func (s *shredder) bind(a arrow.Array) error {
	for k := range s.leaf.steps {
		st := &s.leaf.steps[k]
		s.cols[k] = a
		var below arrow.Array
		switch v := a.(type) {
		case *array.Struct:
			if st.kind == stepStruct && st.child < v.NumField() {
				below = v.Field(st.child)
			}
		case *array.LargeList:
			if st.kind == stepList {
				below, s.ranges[k] = v.ListValues(), v.ValueOffsets
			}
		case *array.FixedSizeList:
			if st.kind == stepFixedList {
				below, s.ranges[k] = v.ListValues(), v.ValueOffsets
			}
		case *array.Map:
			s.ranges[k] = v.ValueOffsets
			if st.kind == stepKey {
				below = arrowtype.KeysOf(v)
			} else if st.kind == stepValue {
				below = v.Items()
			}
		case *array.SparseUnion:
			if u, ok := arrowtype.UnionOf(v, len(st.node.Children)); ok && st.kind == stepUnion {
				below, s.unions[k] = u.Fields[st.child], u
			}
		}
		if below == nil {
			return s.misfit(a)
		}
		a = below
	}
	return s.bindValues(a)
}

func (s *shredder) misfit(a arrow.Array) error {
	return fmt.Errorf("column %q: unexpected array of type %s", s.leaf.column, a.DataType())
}

// bindValues chooses how values are appended.
func (s *shredder) bindValues(a arrow.Array) error {
	s.values, s.value, s.many, s.extent = a, nil, nil, nil
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	if s.leaf.form == asDecimal {
		return s.bindDecimal(a)
	}
	switch v := a.(type) {
	case *array.Boolean:
		s.fixedSize(func(dst []byte, i int) []byte {
			if v.Value(i) {
				return append(dst, 1)
			}
			return append(dst, 0)
		})
	case *array.Int8:
		s.ints(func(i int) int32 { return int32(v.Value(i)) })
	case *array.Int16:
		s.ints(func(i int) int32 { return int32(v.Value(i)) })
	case *array.Int32:
		s.ints(v.Value)
		s.raw(arrow.Int32Traits.CastToBytes(v.Int32Values()))
	case *array.Uint8:
		s.ints(func(i int) int32 { return int32(v.Value(i)) })
	case *array.Uint16:
		s.ints(func(i int) int32 { return int32(v.Value(i)) })
	case *array.Uint32:
		s.longs(func(i int) int64 { return int64(v.Value(i)) })
	case *array.Int64:
		if s.leaf.form == asDate {
			s.ints(func(i int) int32 { return days(v.Value(i)) })
		} else if s.leaf.form == asMicros {
			s.longs(func(i int) int64 { return micros(v.Value(i)) })
		} else {
			s.longs(v.Value)
			s.raw(arrow.Int64Traits.CastToBytes(v.Int64Values()))
		}
	case *array.Uint64:
		s.fixedSize(func(dst []byte, i int) []byte { return binary.BigEndian.AppendUint64(append(dst, 0), v.Value(i)) })
	case *array.Float32:
		s.ints(func(i int) int32 { return int32(math.Float32bits(v.Value(i))) })
		s.raw(arrow.Float32Traits.CastToBytes(v.Float32Values()))
	case *array.Float64:
		s.longs(func(i int) int64 { return int64(math.Float64bits(v.Value(i))) })
		s.raw(arrow.Float64Traits.CastToBytes(v.Float64Values()))
	case *array.LargeString:
		s.value = func(dst []byte, i int) []byte { return appendString(dst, v.Value(i)) }
		s.extent = func(i, j int) int64 {
			return v.ValueOffset64(j-1) + int64(v.ValueLen(j-1)) - v.ValueOffset64(i) + 4*int64(j-i)
		}
	case *array.LargeBinary:
		s.value = func(dst []byte, i int) []byte { return appendBytes(dst, v.Value(i)) }
		if s.leaf.form == asJSON {
			s.value = func(dst []byte, i int) []byte { return appendJSON(dst, v.Value(i)) }
			return nil
		}
		s.extent = func(i, j int) int64 {
			return v.ValueOffset64(j-1) + int64(v.ValueLen(j-1)) - v.ValueOffset64(i) + 4*int64(j-i)
		}
	case *array.FixedSizeBinary:
		if s.leaf.form == asText {
			s.value = func(dst []byte, i int) []byte { return appendDecimal(dst, v.Value(i)) }
			return nil
		}
		s.fixedSize(func(dst []byte, i int) []byte { return append(dst, v.Value(i)...) })
	default:
		return s.misfit(a)
	}
	if s.leaf.physical == byteArray != (s.many == nil) {
		return s.misfit(a)
	}
	return nil
}

// bindDecimal appends integers and decimals as unscaled numbers. A value that has more digits than the type is an error.
func (s *shredder) bindDecimal(a arrow.Array) error {
	var get func(i int) decimal.Value
	switch v := a.(type) {
	case *array.Int8:
		get = func(i int) decimal.Value { return decimal.FromInt(int64(v.Value(i))) }
	case *array.Int16:
		get = func(i int) decimal.Value { return decimal.FromInt(int64(v.Value(i))) }
	case *array.Int32:
		get = func(i int) decimal.Value { return decimal.FromInt(int64(v.Value(i))) }
	case *array.Int64:
		get = func(i int) decimal.Value { return decimal.FromInt(v.Value(i)) }
	case *array.Uint8:
		get = func(i int) decimal.Value { return decimal.FromUint(uint64(v.Value(i))) }
	case *array.Uint16:
		get = func(i int) decimal.Value { return decimal.FromUint(uint64(v.Value(i))) }
	case *array.Uint32:
		get = func(i int) decimal.Value { return decimal.FromUint(uint64(v.Value(i))) }
	case *array.Uint64:
		get = func(i int) decimal.Value { return decimal.FromUint(v.Value(i)) }
	case *array.FixedSizeBinary:
		get = func(i int) decimal.Value { return decimal.From(v.Value(i)) }
	default:
		return s.misfit(a)
	}
	s.fixedSize(func(dst []byte, i int) []byte { return s.appendUnscaled(dst, get(i)) })
	return nil
}

// appendUnscaled appends a decimal as an integer, or of bytes with the most significant first.
func (s *shredder) appendUnscaled(dst []byte, v decimal.Value) []byte {
	l := s.leaf
	n, ok := v.Scaled(l.scale)
	if !ok || len(new(big.Int).Abs(n).String()) > l.precision {
		if s.err == nil {
			s.err = fmt.Errorf("column %q: %s: no decimal(%d, %d)", l.column, v, l.precision, l.scale)
		}
		n = new(big.Int)
	}
	switch l.physical {
	case int32s:
		return binary.LittleEndian.AppendUint32(dst, uint32(n.Int64()))
	case int64s:
		return binary.LittleEndian.AppendUint64(dst, uint64(n.Int64()))
	}
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*l.width)))
	}
	return append(dst, n.FillBytes(make([]byte, l.width))...)
}

func (s *shredder) fixedSize(one func(dst []byte, i int) []byte) {
	s.value = one
	s.many = func(dst []byte, i, j int) []byte {
		for ; i < j; i++ {
			dst = one(dst, i)
		}
		return dst
	}
}

// raw has values without nulls copied as they lie in memory, which is as Parquet has them where the least significant byte comes first.
func (s *shredder) raw(b []byte) {
	if bigEndian {
		return
	}
	w := s.leaf.width
	s.many = func(dst []byte, i, j int) []byte { return append(dst, b[i*w:j*w]...) }
}

func (s *shredder) ints(get func(i int) int32) {
	s.value = func(dst []byte, i int) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(get(i))) }
	s.many = func(dst []byte, i, j int) []byte {
		for ; i < j; i++ {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(get(i)))
		}
		return dst
	}
}

func (s *shredder) longs(get func(i int) int64) {
	s.value = func(dst []byte, i int) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(get(i))) }
	s.many = func(dst []byte, i, j int) []byte {
		for ; i < j; i++ {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(get(i)))
		}
		return dst
	}
}

func appendString(dst []byte, v string) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
}

func appendBytes(dst, v []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
}

// sized appends what add appends behind its length.
func sized(dst []byte, add func([]byte) []byte) []byte {
	at := len(dst)
	dst = add(append(dst, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendJSON appends a dynamic value as JSON text: one that is none becomes a string of its base64.
func appendJSON(dst, v []byte) []byte {
	if json.Valid(v) {
		return appendBytes(dst, v)
	}
	return sized(dst, func(b []byte) []byte { return append(base64.StdEncoding.AppendEncode(append(b, '"'), v), '"') })
}

func appendDecimal(dst, v []byte) []byte {
	return sized(dst, func(b []byte) []byte { return decimal.From(v).Append(b) })
}

const (
	// epochTicks is 1970-01-01 in ticks of 100 ns since year 1.
	epochTicks     = 621_355_968_000_000_000
	ticksPerMicro  = 10
	decimalMaxText = 48 // bytes of a decimal as text: a sign, 34 digits, a point, an exponent or leading zeros
)

// micros are microseconds since 1970, rounded down as the table's bounds are.
func micros(ticks int64) int64 {
	q := ticks / ticksPerMicro
	if ticks%ticksPerMicro < 0 {
		q--
	}
	return q - epochTicks/ticksPerMicro
}

const microsPerDay = 24 * 60 * 60 * 1_000_000

// days are days since 1970, rounded down.
func days(ticks int64) int32 {
	m := micros(ticks)
	q := m / microsPerDay
	if m%microsPerDay < 0 {
		q--
	}
	return int32(q)
}

// bigEndian reports whether this machine's memory has the most significant byte first.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1
