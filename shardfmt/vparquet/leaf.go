package vparquet

import (
	"fmt"
	"math/big"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// physical is a physical type of Parquet, by its number in the format.
type physical int32

const (
	boolean   physical = 0
	int32s    physical = 1
	int64s    physical = 2
	float32s  physical = 4
	float64s  physical = 5
	byteArray physical = 6
	fixed     physical = 7
)

// form reports how the values of a leaf are made of the shard's.
type form uint8

const (
	asStored   form = iota // byte strings and fixed bytes as they are
	asBoolean              // bits
	asInt                  // integers of up to 32 bits
	asLong                 // unsigned 32 bits, signed 64 bits, ticks of spans
	asUnsigned             // unsigned 64 bits as a decimal of 20 digits
	asFloat
	asDouble
	asMicros  // ticks since year 1 as microseconds since 1970
	asText    // decimals as text
	asJSON    // dynamic values as JSON text
	asDate    // ticks since year 1 as days since 1970
	asDecimal // integers and decimals as unscaled numbers of a precision and scale
)

// unsignedDigits is the precision of a decimal that holds every unsigned integer of 64 bits.
const unsignedDigits = 20

// unsignedWidth is the size of a decimal of 20 digits: the fewest bytes that hold it, as Iceberg demands.
const unsignedWidth = 9

// stepKind is what lies between a leaf and the root of its column.
type stepKind uint8

const (
	stepStruct stepKind = iota
	stepList
	stepFixedList
	stepKey
	stepValue
	stepUnion
)

// step is a nested node above a leaf.
type step struct {
	kind stepKind
	node *schema.Node
	// child is the place of the child that leads to the leaf in the arrays of a scan.
	child int
	// rep is the repetition level of a repeated step.
	rep uint8
}

// leaf is a column of the Parquet file.
type leaf struct {
	node *schema.Node
	id   int
	// path are the names of the Parquet schema, column the dotted path by which the shard knows what holds the leaf.
	path   []string
	column string
	steps  []step
	// required: the leaf is the key of a map.
	required bool
	maxDef   uint8
	maxRep   uint8
	physical physical
	form     form
	// width of a value in bytes, 0 for byte arrays and booleans.
	width int
	// precision and scale of decimals; local timestamps belong to no time zone.
	precision, scale int
	local            bool
}

func (l *leaf) defBits() int   { return bits.Len8(l.maxDef) }
func (l *leaf) repBits() int   { return bits.Len8(l.maxRep) }
func (l *leaf) repeated() bool { return l.maxRep > 0 }

// uniform reports whether the sizes of pages follow from the number of rows.
func (l *leaf) uniform() bool { return !l.repeated() && l.physical != byteArray }

// element is a node of the Parquet schema in depth-first order.
type element struct {
	name string
	// repetition: 0 required, 1 optional, 2 repeated, negative for the root.
	repetition int32
	children   int
	id         int
	leaf       *leaf
	// list and dict mark groups that are lists and maps.
	list, dict bool
}

// tree makes the Parquet schema of a shard's.
type tree struct {
	ids      []int
	types    func(id int) string
	elements []element
	leaves   []*leaf
}

// place is where a node of the tree stands.
type place struct {
	path, column []string
	// sealed: a union above holds the node, below which the shard projects nothing.
	sealed   bool
	steps    []step
	def, rep uint8
}

func (p place) in(names ...string) place {
	p.path = append(p.path[:len(p.path):len(p.path)], names...)
	return p
}

func (p place) project(name string) place {
	if !p.sealed {
		p.column = append(p.column[:len(p.column):len(p.column)], name)
	}
	return p
}

func (p place) step(s step) place {
	p.steps = append(p.steps[:len(p.steps):len(p.steps)], s)
	return p
}

func newTree(s *schema.Schema, ids []int, types func(id int) string) (*tree, error) {
	t := &tree{ids: ids, types: types, elements: []element{{name: "table", repetition: -1}}}
	for _, n := range s.Fields {
		if n.Internal != "" || ids[n.ID] == 0 {
			continue
		}
		added, err := t.add(n, n.Name, place{}.project(n.Name))
		if err != nil {
			return nil, err
		}
		if added {
			t.elements[0].children++
		}
	}
	return t, nil
}

// add appends a node and all below it; false if nothing of it is a column.
func (t *tree) add(n *schema.Node, name string, p place) (bool, error) {
	p = p.in(name)
	switch n.Basic {
	case schema.List, schema.FixedSizeList:
		return t.addList(n, name, p)
	case schema.Map:
		return t.addMap(n, name, p)
	case schema.Struct, schema.Union:
		return t.addStruct(n, name, p)
	}
	return t.addLeaf(n, name, p, false)
}

func (t *tree) addLeaf(n *schema.Node, name string, p place, required bool) (bool, error) {
	l := &leaf{node: n, id: t.ids[n.ID], path: p.path, column: schema.JoinPath(p.column...), steps: p.steps, required: required, maxDef: p.def, maxRep: p.rep}
	if !required {
		l.maxDef++
	}
	if ok, err := l.setType(); !ok || err != nil {
		return false, err
	}
	if t.types != nil {
		if err := l.setTarget(t.types(l.id)); err != nil {
			return false, err
		}
	}
	t.elements = append(t.elements, element{name: name, repetition: repetition(required), id: l.id, leaf: l})
	t.leaves = append(t.leaves, l)
	return true, nil
}

func repetition(required bool) int32 {
	if required {
		return 0
	}
	return 1
}

// group appends a group and what fill appends below it, or nothing if that is nothing.
func (t *tree) group(e element, fill func() (int, error)) (bool, error) {
	at, leaves := len(t.elements), len(t.leaves)
	t.elements = append(t.elements, e)
	n, err := fill()
	if n == 0 || err != nil {
		t.elements, t.leaves = t.elements[:at], t.leaves[:leaves]
		return false, err
	}
	t.elements[at].children = n
	return true, nil
}

// counted turns the answer of an addition into a number of children.
func counted(added bool, err error) (int, error) {
	if added {
		return 1, err
	}
	return 0, err
}

func (t *tree) addList(n *schema.Node, name string, p place) (bool, error) {
	if len(n.Children) != 1 || t.ids[n.Children[0].ID] == 0 {
		return false, nil
	}
	kind := stepList
	if n.Basic == schema.FixedSizeList {
		kind = stepFixedList
	}
	p.def, p.rep = p.def+2, p.rep+1
	p = p.step(step{kind: kind, node: n, rep: p.rep})
	return t.group(element{name: name, repetition: 1, id: t.ids[n.ID], list: true}, func() (int, error) {
		return counted(t.group(element{name: "list", repetition: 2}, func() (int, error) {
			return counted(t.add(n.Children[0], "element", p.in("list").project(n.ChildName(0))))
		}))
	})
}

func (t *tree) addMap(n *schema.Node, name string, p place) (bool, error) {
	if len(n.Children) != 2 || t.ids[n.Children[0].ID] == 0 || t.ids[n.Children[1].ID] == 0 {
		return false, nil
	}
	p.def, p.rep = p.def+2, p.rep+1
	return t.group(element{name: name, repetition: 1, id: t.ids[n.ID], dict: true}, func() (int, error) {
		return counted(t.group(element{name: "key_value", repetition: 2}, func() (int, error) {
			in := p.in("key_value")
			key, err := t.addKey(n, in)
			if !key || err != nil {
				return 0, err
			}
			at := in.step(step{kind: stepValue, node: n, rep: p.rep}).project(n.ChildName(1))
			value, err := t.add(n.Children[1], "value", at)
			if !value {
				return 0, err
			}
			return 2, err
		}))
	})
}

// addKey appends the key of a map, which is never null. Keys that are nested themselves are refused.
func (t *tree) addKey(n *schema.Node, p place) (bool, error) {
	key := n.Children[0]
	if key.Basic >= schema.List {
		return false, fmt.Errorf("column %q: map with keys of type %s: not supported", n.Name, key.Basic)
	}
	p = p.step(step{kind: stepKey, node: n, rep: p.rep}).project(n.ChildName(0)).in("key")
	return t.addLeaf(key, "key", p, true)
}

func (t *tree) addStruct(n *schema.Node, name string, p place) (bool, error) {
	p.def++
	kind := stepStruct
	if n.Basic == schema.Union {
		kind, p.sealed = stepUnion, true
	}
	return t.group(element{name: name, repetition: 1, id: t.ids[n.ID]}, func() (int, error) {
		children := 0
		for i, c := range n.Children {
			if t.ids[c.ID] == 0 {
				continue
			}
			name := c.Name
			if name == "" {
				name = fmt.Sprintf("variant%d", i)
			}
			at := step{kind: kind, node: n}
			if p.sealed {
				at.child = i // scans leave the other members out elsewhere
			}
			added, err := t.add(c, name, p.step(at).project(c.Name))
			if err != nil {
				return 0, err
			}
			if added {
				children++
			}
		}
		return children, nil
	})
}

// setType chooses the type of a leaf's values; false for Unit, which has none.
func (l *leaf) setType() (bool, error) {
	set := func(p physical, f form, width int) (bool, error) {
		l.physical, l.form, l.width = p, f, width
		return true, nil
	}
	switch n := l.node; n.Basic {
	case schema.Boolean:
		return set(boolean, asBoolean, 0)
	case schema.Int8, schema.Int16:
		return set(int32s, asInt, 4)
	case schema.Int32:
		if n.Signed {
			return set(int32s, asInt, 4)
		}
		return set(int64s, asLong, 8)
	case schema.Int64:
		if n.Signed {
			return set(int64s, asLong, 8)
		}
		l.precision = unsignedDigits
		return set(fixed, asUnsigned, unsignedWidth)
	case schema.Float32:
		return set(float32s, asFloat, 4)
	case schema.Float64:
		return set(float64s, asDouble, 8)
	case schema.DateTime:
		return set(int64s, asMicros, 8)
	case schema.Guid:
		return set(fixed, asStored, 16)
	case schema.String:
		return set(byteArray, asStored, 0)
	case schema.Binary:
		if n.IsDynamic() {
			return set(byteArray, asJSON, 0)
		}
		return set(byteArray, asStored, 0)
	case schema.FixedSizeBinary:
		if n.IsDecimal() {
			return set(byteArray, asText, 0)
		}
		if n.FixedSize == 0 || n.FixedSize > maxWidth {
			return false, fmt.Errorf("column %q: fixed-size binary of %d bytes: not supported, at most %d", n.Name, n.FixedSize, maxWidth)
		}
		return set(fixed, asStored, int(n.FixedSize))
	}
	return false, nil
}

// setTarget changes the type of a leaf to that of the table's column, where the shard's type has none of its own for it: tables that other
// engines made have dates, times without a zone, and decimals.
func (l *leaf) setTarget(text string) error {
	var precision, scale int
	switch n, _ := fmt.Sscanf(text, "decimal(%d,%d)", &precision, &scale); {
	case text == "date" && l.node.Basic == schema.DateTime:
		l.physical, l.form, l.width = int32s, asDate, 4
	case text == "timestamp" && l.node.Basic == schema.DateTime:
		l.local = true
	case n == 2 && (l.node.IsDecimal() || l.node.Basic.IsInteger()):
		if precision < 1 || precision > maxDigits || scale < 0 || scale > precision {
			return fmt.Errorf("column %q: invalid type %s", l.column, text)
		}
		if l.form == asUnsigned && precision == unsignedDigits && scale == 0 {
			return nil
		}
		l.form, l.precision, l.scale = asDecimal, precision, scale
		switch {
		case precision <= 9:
			l.physical, l.width = int32s, 4
		case precision <= 18:
			l.physical, l.width = int64s, 8
		default:
			l.physical, l.width = fixed, decimalWidth(precision)
		}
	}
	return nil
}

// maxDigits is the greatest precision of Iceberg's decimals.
const maxDigits = 38

// decimalWidth is the fewest bytes that hold every number of so many digits, and a sign.
func decimalWidth(digits int) int {
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return most.BitLen()/8 + 1
}

// labelJSON marks JSON text in binary columns.
const labelJSON = "arrow.json"

// isText reports whether a leaf is a string to readers.
func (l *leaf) isText() bool {
	return l.node.Basic == schema.String || l.form == asText || l.form == asJSON || l.node.Basic == schema.Binary && l.node.Label() == labelJSON
}
