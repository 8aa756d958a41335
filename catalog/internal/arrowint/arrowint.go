// Package arrowint reads arrays of integers of any width.
package arrowint

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Values gives the values of an array of integers as 64 bits, sign-extended; ok is false for any other array.
func Values(a arrow.Array) (value func(i int) uint64, signed, ok bool) {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Int16:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Int32:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Int64:
		return func(i int) uint64 { return uint64(a.Value(i)) }, true, true
	case *array.Uint8:
		return func(i int) uint64 { return uint64(a.Value(i)) }, false, true
	case *array.Uint16:
		return func(i int) uint64 { return uint64(a.Value(i)) }, false, true
	case *array.Uint32:
		return func(i int) uint64 { return uint64(a.Value(i)) }, false, true
	case *array.Uint64:
		return a.Value, false, true
	}
	return nil, false, false
}
