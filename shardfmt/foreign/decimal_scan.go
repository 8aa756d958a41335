package foreign

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/decimal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// decimalScan finds, for each field of decimals by its path, the scale that all its values fit.
type decimalScan map[string]*scale

// scale is what the values of one field need: digits before and behind the point.
type scale struct {
	whole, fraction int
	// unfit: a value is no finite number.
	unfit bool
}

// maxDecimal128 is how many digits Arrow's decimal128 has.
const maxDecimal128 = 38

// newDecimalScan prepares the fields of a schema; it is empty if none holds decimals.
func newDecimalScan(s *schema.Schema) decimalScan {
	scan := decimalScan{}
	var walk func(n *schema.Node, path string)
	walk = func(n *schema.Node, path string) {
		if n.IsDecimal() {
			scan[path] = &scale{}
		}
		for i, c := range n.Children {
			walk(c, path+"."+childName(n, i))
		}
	}
	for _, f := range s.Fields {
		walk(f, f.Name)
	}
	return scan
}

// without leaves out the fields that have a fixed-point type in an Arrow schema, and reports whether any is left.
func (d decimalScan) without(types *arrow.Schema) bool {
	for _, f := range types.Fields() {
		if !holdsDecimals(f.Type) {
			continue
		}
		for path := range d {
			if path == f.Name || strings.HasPrefix(path, f.Name+".") {
				delete(d, path)
			}
		}
	}
	return len(d) > 0
}

func holdsDecimals(t arrow.DataType) bool {
	switch t := t.(type) {
	case arrow.DecimalType:
		return true
	case arrow.NestedType:
		return slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return holdsDecimals(f.Type) })
	}
	return false
}

// childName is the name of a child in dotted paths.
func childName(n *schema.Node, i int) string {
	switch n.Basic {
	case schema.List, schema.FixedSizeList:
		return "item"
	case schema.Map:
		return [2]string{"key", "value"}[i]
	}
	return n.Children[i].Name
}

// look takes in the decimals of an array and of the arrays in it.
func (d decimalScan) look(a arrow.Array, path string) {
	switch a := a.(type) {
	case *arrowtype.DecimalArray:
		if s := d[path]; s != nil {
			for i := range a.Len() {
				if a.IsValid(i) {
					s.take(decimal.From(a.Value(i)))
				}
			}
		}
	case *array.Struct:
		for i, f := range a.DataType().(*arrow.StructType).Fields() {
			d.look(a.Field(i), path+"."+f.Name)
		}
	case *array.SparseUnion:
		for i, f := range a.UnionType().Fields() {
			d.look(a.Field(i), path+"."+f.Name)
		}
	case *array.Map:
		d.look(a.Keys(), path+".key")
		d.look(a.Items(), path+".value")
	case array.ListLike:
		d.look(a.ListValues(), path+".item")
	}
}

func (s *scale) take(v decimal.Value) {
	whole, fraction, ok := v.Need()
	s.unfit = s.unfit || !ok
	s.whole, s.fraction = max(s.whole, whole), max(s.fraction, fraction)
}

// typeOf is the fixed-point type of a field, or nil if there is none for all values.
func (d decimalScan) typeOf(path string) *arrow.Decimal128Type {
	s := d[path]
	if s == nil || s.unfit || s.whole+s.fraction > maxDecimal128 {
		return nil
	}
	return &arrow.Decimal128Type{Precision: maxDecimal128, Scale: int32(s.fraction)}
}
