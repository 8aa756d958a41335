package vparquet

// Types of the thrift compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// The widths of padded variable-length integers, in bytes. A padded integer has the same length whatever its value, so that the length
// of a structure is known before its values are.
const (
	padI32    = 5
	padI64    = 10
	padOffset = 7 // of offsets in an offset index: 48 bits
)

// thrift encodes structures in the compact protocol. Fields of a structure are written in rising order of their ids.
type thrift struct {
	b []byte
	// last are the ids of the last field of the open structures.
	last []int16
}

func (t *thrift) open()  { t.last = append(t.last, 0) }
func (t *thrift) close() { t.b, t.last = append(t.b, 0), t.last[:len(t.last)-1] }

func (t *thrift) field(id int16, kind byte) {
	last := &t.last[len(t.last)-1]
	if d := id - *last; d > 0 && d < 16 {
		t.b = append(t.b, byte(d)<<4|kind)
	} else {
		t.b = append(t.b, kind)
		t.varint(zigzag(int64(id)), 0)
	}
	*last = id
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// varint appends v in width bytes at least.
func (t *thrift) varint(v uint64, width int) {
	n := 1
	for ; v >= 0x80 || n < width; n++ {
		t.b = append(t.b, byte(v)|0x80)
		v >>= 7
	}
	t.b = append(t.b, byte(v))
}

// i32 and i64 write an integer in width bytes at least.
func (t *thrift) i32(id int16, v int32, width int) {
	t.field(id, thriftI32)
	t.varint(zigzag(int64(v)), width)
}

func (t *thrift) i64(id int16, v int64, width int) {
	t.field(id, thriftI64)
	t.varint(zigzag(v), width)
}

func (t *thrift) bytes(id int16, v []byte) {
	t.field(id, thriftBinary)
	t.varint(uint64(len(v)), 0)
	t.b = append(t.b, v...)
}

func (t *thrift) structure(id int16) {
	t.field(id, thriftStruct)
	t.open()
}

// list starts a list of n elements.
func (t *thrift) list(id int16, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
		return
	}
	t.b = append(t.b, 0xF0|kind)
	t.varint(uint64(n), 0)
}

// text appends an element of a list of strings.
func (t *thrift) text(v string) {
	t.varint(uint64(len(v)), 0)
	t.b = append(t.b, v...)
}
