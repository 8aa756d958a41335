package arrowtype

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A union of the format has up to 256 variants, one of Arrow up to 128: its type codes are 0 to 127. A union of more is held as a
// union of two unions, of the first 128 variants and of the rest, so that the upper bit of a variant's number is the choice between those and
// the other seven the choice within:
//
//	Union<v0 … v199>   sparse_union<0: sparse_union<0: v0 … 127: v127>, 1: sparse_union<0: v128 … 71: v199>>

// MaxVariants is how many variants a union may have: its discriminator is a byte.
const MaxVariants = 256

// directVariants is how many variants an Arrow union holds.
const directVariants = 128

// unionOf is the canonical type of a union with variants.
func unionOf(variants []arrow.Field) arrow.DataType {
	if len(variants) <= directVariants {
		return sparseUnion(variants)
	}
	return sparseUnion([]arrow.Field{
		{Type: sparseUnion(variants[:directVariants]), Nullable: true}, {Type: sparseUnion(variants[directVariants:]), Nullable: true},
	})
}

func sparseUnion(fields []arrow.Field) *arrow.SparseUnionType {
	codes := make([]arrow.UnionTypeCode, len(fields))
	for i := range codes {
		codes[i] = arrow.UnionTypeCode(i)
	}
	return arrow.SparseUnionOf(fields, codes)
}

// VariantsOf are the variants of a canonical union type that has n of them.
func VariantsOf(t *arrow.SparseUnionType, n int) []arrow.Field {
	if n <= directVariants {
		return t.Fields()
	}
	var out []arrow.Field
	for _, group := range t.Fields() {
		out = append(out, group.Type.(*arrow.SparseUnionType).Fields()...)
	}
	return out
}

// NewUnion is an array of a canonical union type: codes are the numbers of the variants, children the values of each at all slots.
func NewUnion(t *arrow.SparseUnionType, codes []uint8, children []arrow.ArrayData) arrow.ArrayData {
	if len(children) <= directVariants {
		return unionData(t, codes, children)
	}
	choice := make([]uint8, len(codes))
	groups := make([]arrow.ArrayData, 2)
	for g := range groups {
		within := make([]uint8, len(codes))
		for i, c := range codes {
			if choice[i] = c / directVariants; int(choice[i]) == g {
				within[i] = c % directVariants
			}
		}
		part := children[g*directVariants : min((g+1)*directVariants, len(children))]
		groups[g] = unionData(t.Fields()[g].Type, within, part)
	}
	return unionData(t, choice, groups)
}

func unionData(t arrow.DataType, codes []uint8, children []arrow.ArrayData) arrow.ArrayData {
	return array.NewData(t, len(codes), []*memory.Buffer{nil, memory.NewBufferBytes(codes)}, children, 0, 0)
}

// Union is an array of unions seen by its variants.
type Union struct {
	a *array.SparseUnion
	// groups are the two halves of a union of more than 128 variants.
	groups []*array.SparseUnion
	// Fields are the values of each variant, as long as the array.
	Fields []arrow.Array
}

// UnionOf sees an array of the canonical type of a union with n variants by these; ok is false for an array of another type.
func UnionOf(a arrow.Array, n int) (u Union, ok bool) {
	if u.a, ok = a.(*array.SparseUnion); !ok {
		return u, false
	}
	for i := range u.a.NumFields() {
		f := u.a.Field(i)
		if n <= directVariants {
			u.Fields = append(u.Fields, f)
			continue
		}
		group, ok := f.(*array.SparseUnion)
		if !ok {
			return u, false
		}
		u.groups = append(u.groups, group)
		for j := range group.NumFields() {
			u.Fields = append(u.Fields, group.Field(j))
		}
	}
	return u, len(u.Fields) == n
}

// Variant is the number of the variant of value i.
func (u Union) Variant(i int) int {
	choice := u.a.ChildID(i)
	if u.groups == nil {
		return choice
	}
	return choice*directVariants + u.groups[choice].ChildID(i)
}

// IsNull reports whether value i is null. Arrow's unions have no nulls of their own: a null one chooses a variant whose value is null.
func IsNull(a arrow.Array, i int) bool {
	if u, ok := a.(*array.SparseUnion); ok {
		return IsNull(u.Field(u.ChildID(i)), i)
	}
	return a.IsNull(i)
}

// UnionBuilder builds an array of the canonical type of a union.
type UnionBuilder struct {
	b *array.SparseUnionBuilder
	// groups are the builders of the two halves of a union of more than 128 variants.
	groups []*array.SparseUnionBuilder
	// Variants are the builders of each variant.
	Variants []array.Builder
}

// UnionBuilderOf sees the builder of the canonical type of a union with n variants by these.
func UnionBuilderOf(b *array.SparseUnionBuilder, n int) *UnionBuilder {
	u := &UnionBuilder{b: b}
	if n <= directVariants {
		for i := range n {
			u.Variants = append(u.Variants, b.Child(i))
		}
		return u
	}
	for g := range 2 {
		group := b.Child(g).(*array.SparseUnionBuilder)
		u.groups = append(u.groups, group)
		for i := range min(n-g*directVariants, directVariants) {
			u.Variants = append(u.Variants, group.Child(i))
		}
	}
	return u
}

// Append chooses a variant for the next value, to whose builder the caller appends it; all others get an empty value.
func (u *UnionBuilder) Append(variant int) {
	if u.groups == nil {
		u.b.Append(arrow.UnionTypeCode(variant))
	} else {
		choice := variant / directVariants
		u.b.Append(arrow.UnionTypeCode(choice))
		u.groups[choice].Append(arrow.UnionTypeCode(variant % directVariants))
		u.groups[1-choice].Append(0)
	}
	for i, b := range u.Variants {
		if i != variant {
			b.AppendEmptyValue()
		}
	}
}
