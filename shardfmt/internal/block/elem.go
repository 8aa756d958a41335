package block

// Elem is the element type of a block or of a nested stream.
type Elem uint8

// The element types. FixedBinary stands for FixedSizeBinary, Guid and decimal, whose values all have the
// type's size; Binary for strings and binary of any length.
const (
	Int8 Elem = iota
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	Binary
	FixedBinary
)

// String is the element's name, as "i32" or "fixed binary".
func (e Elem) String() string {
	return [...]string{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "binary", "fixed binary"}[e]
}

// ElemOf is the element type of numbers of type T.
func ElemOf[T Number]() Elem {
	var v T
	switch any(v).(type) {
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	}
	return Float64
}

// elemOf is the element type of numbers of a kind and a size in bytes.
func elemOf(k kind, size int) Elem {
	step := Elem(0) // log2 of size
	for ; size > 1; size /= 2 {
		step++
	}
	switch k {
	case signed:
		return Int8 + step
	case unsigned:
		return Uint8 + step
	}
	return Float32 + step - 2
}

// kind is what the bits of a numeric element mean.
func (e Elem) kind() kind {
	switch {
	case e <= Int64:
		return signed
	case e <= Uint64:
		return unsigned
	}
	return float
}

// size is the width of a numeric element in bytes.
func (e Elem) size() int {
	switch e {
	case Int8, Uint8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	}
	return 8
}
