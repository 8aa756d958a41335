package layer

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is a type of values, as Rust calls it.
type Kind uint8

// The kinds. Opaque is a key of a fixed size whose order and content are not known: its bytes. List is an auxiliary value
// that holds a sorted list of keys with auxiliary values of their own.
const (
	Unit Kind = iota
	Bool
	Char
	I8
	I16
	I32
	I64
	I128
	U8
	U16
	U32
	U64
	U128
	F32
	F64
	String
	Bytes
	Opaque
	List
)

// kinds are the names and, in bytes, the sizes and alignments of archived values.
var kinds = [...]struct {
	name        string
	size, align int
}{
	Unit: {"()", 0, 1}, Bool: {"bool", 1, 1}, Char: {"char", 4, 4},
	I8: {"i8", 1, 1}, I16: {"i16", 2, 2}, I32: {"i32", 4, 4}, I64: {"i64", 8, 8}, I128: {"i128", 16, 16},
	U8: {"u8", 1, 1}, U16: {"u16", 2, 2}, U32: {"u32", 4, 4}, U64: {"u64", 8, 8}, U128: {"u128", 16, 16},
	F32: {"f32", 4, 4}, F64: {"f64", 8, 8}, String: {"string", 16, 8}, Bytes: {"bytes", 16, 8}, Opaque: {"opaque", 0, 8}, List: {"list", 16, 8},
}

// Type is the type of a key or of an auxiliary value.
type Type struct {
	Kind Kind
	// Optional values may be absent.
	Optional bool
	// Size in bytes of an Opaque value.
	Size int
	// Elem is the types of the elements of a List.
	Elem *Pair
}

// String is the type as ParseTypes reads it.
func (t Type) String() string {
	name := kinds[t.Kind].name
	switch t.Kind {
	case Opaque:
		name = fmt.Sprintf("opaque(%d)", t.Size)
	case List:
		name = fmt.Sprintf("list<%s,%s>", t.Elem.Key, t.Elem.Aux)
	}
	if t.Optional {
		return "opt<" + name + ">"
	}
	return name
}

func (t Type) align() int { return kinds[t.Kind].align }

// bare is the size without the tag of an option.
func (t Type) bare() int {
	if t.Kind == Opaque {
		return t.Size
	}
	return kinds[t.Kind].size
}

// size of the archived value: an option has a tag of one byte, and the value at the next multiple of its alignment.
func (t Type) size() int {
	if !t.Optional {
		return t.bare()
	}
	return roundUp(t.align()+t.bare(), t.align())
}

// niche is how many bit patterns of the value mean nothing, which sways the order of fields; roughly for Char.
func (t Type) niche() int {
	switch {
	case t.Optional, t.Kind == Bool:
		return 254
	case t.Kind == Char:
		return 1 << 31
	}
	return 0
}

// Pair is the types of a column and where its two values lie in an archived item.
type Pair struct {
	Key, Aux    Type
	keyAt       int
	auxAt       int
	size, align int
}

// newPair lays an item out as rustc does: first what is divisible by the larger power of two, at equal powers in order
// of declaration; where one of the two has unused bit patterns the powers are cut to the alignment of the item, and at
// equal powers the one with more of them comes first.
func newPair(key, aux Type) Pair {
	p := Pair{Key: key, Aux: aux, align: max(key.align(), aux.align())}
	k, a := power(key), power(aux)
	auxFirst := a > k
	if key.niche() > 0 || aux.niche() > 0 {
		k, a = min(k, p.align), min(a, p.align)
		auxFirst = a > k || a == k && aux.niche() > key.niche()
	}
	if auxFirst {
		p.keyAt = roundUp(aux.size(), key.align())
		p.size = roundUp(p.keyAt+key.size(), p.align)
	} else {
		p.auxAt = roundUp(key.size(), aux.align())
		p.size = roundUp(p.auxAt+aux.size(), p.align)
	}
	return p
}

// power is the largest power of two that divides the size, or the alignment if that is larger.
func power(t Type) int {
	n := max(t.size(), t.align())
	return n & -n
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// ParseTypes reads the types of all columns: key and auxiliary value separated by a comma, columns by a slash, as in
// "i64,string/u64,()".
func ParseTypes(text string) ([]Pair, error) {
	var out []Pair
	for _, column := range strings.Split(text, "/") {
		p, err := parsePair(column)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if len(out) > maxColumns {
		return nil, fmt.Errorf("%d columns, more than the limit of %d", len(out), maxColumns)
	}
	return out, nil
}

// parsePair reads KEY,AUX.
func parsePair(text string) (Pair, error) {
	key, aux, ok := strings.Cut(text, ",")
	if !ok {
		return Pair{}, fmt.Errorf("%q: a column has two types, KEY,AUX", text)
	}
	k, err := parseType(strings.TrimSpace(key))
	if err != nil {
		return Pair{}, err
	}
	a, err := parseType(strings.TrimSpace(aux))
	if err != nil {
		return Pair{}, err
	}
	if a.Kind == Opaque || k.Kind == Opaque && k.Optional {
		return Pair{}, fmt.Errorf("%q: opaque is for keys", text)
	}
	if k.Kind == List {
		return Pair{}, fmt.Errorf("%q: a list is not a key", text)
	}
	return newPair(k, a), nil
}

func parseType(text string) (Type, error) {
	if inner, ok := strings.CutPrefix(text, "opt<"); ok {
		inner, ok = strings.CutSuffix(inner, ">")
		t, err := parseType(strings.TrimSpace(inner))
		if err != nil || !ok || t.Optional || t.Kind == Unit || t.Kind == List {
			return t, fmt.Errorf("%q is not a type: opt<…> holds one of i8…i128 u8…u128 bool char f32 f64 string bytes", text)
		}
		t.Optional = true
		return t, nil
	}
	if size, ok := strings.CutPrefix(text, "opaque("); ok {
		n, err := strconv.Atoi(strings.TrimSuffix(size, ")"))
		if err != nil || n < 1 || n > 1<<20 {
			return Type{}, fmt.Errorf("%q is not a type: opaque(BYTES)", text)
		}
		return Type{Kind: Opaque, Size: n}, nil
	}
	if inner, ok := strings.CutPrefix(text, "list<"); ok {
		inner, ok = strings.CutSuffix(inner, ">")
		elem, err := parsePair(inner)
		if err != nil || !ok || elem.Key.Kind == Opaque || elem.Aux.Kind == List {
			return Type{}, fmt.Errorf("%q is not a type: list<KEY,AUX> of types that are not lists", text)
		}
		return listType(elem), nil
	}
	for k := range Opaque {
		if kinds[k].name == text {
			return Type{Kind: k}, nil
		}
	}
	return Type{}, fmt.Errorf("%q is not a type: one of i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 bool char f32 f64 string bytes () opt<…> list<KEY,AUX>", text)
}

// TypesText is the text that ParseTypes reads.
func TypesText(types []Pair) string {
	var out []string
	for _, p := range types {
		out = append(out, p.Key.String()+","+p.Aux.String())
	}
	return strings.Join(out, "/")
}
