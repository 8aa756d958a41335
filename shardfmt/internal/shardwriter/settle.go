package shardwriter

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// settle counts the nulls of an array and of all that it is made of. Arrow does that when somebody asks first, and writes it down: that
// must not happen on several goroutines at once, and encoders and indexes look at the same arrays.
func settle(a arrow.Array) {
	a.NullN()
	switch a := a.(type) {
	case array.ExtensionArray:
		settle(a.Storage())
	case *array.Struct:
		for i := range a.NumField() {
			settle(a.Field(i))
		}
	case array.Union:
		for i := range a.NumFields() {
			settle(a.Field(i))
		}
	case *array.Map:
		settle(a.ListValues())
		settle(a.Keys())
		settle(a.Items())
	case array.ListLike:
		settle(a.ListValues())
	}
}
