package rowsplit

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/catalog/internal/arrowint"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// literals reads the values of a canonical array as literals of the Iceberg type that the node maps to.
func literals(n *schema.Node, a arrow.Array) (func(int) iceberg.Literal, error) {
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) iceberg.Literal { return iceberg.BoolLiteral(a.Value(i)) }, nil
	case *array.Float32:
		return func(i int) iceberg.Literal { return iceberg.Float32Literal(a.Value(i)) }, nil
	case *array.Float64:
		return func(i int) iceberg.Literal { return iceberg.Float64Literal(a.Value(i)) }, nil
	case *array.LargeString:
		return func(i int) iceberg.Literal { return iceberg.StringLiteral(a.Value(i)) }, nil
	case *array.LargeBinary:
		return func(i int) iceberg.Literal { return iceberg.BinaryLiteral(a.Value(i)) }, nil
	case *array.FixedSizeBinary:
		return fixedLiterals(n, a)
	}
	return integerLiterals(n, a)
}

func fixedLiterals(n *schema.Node, a *array.FixedSizeBinary) (func(int) iceberg.Literal, error) {
	switch {
	case n.Basic == schema.Guid:
		return func(i int) iceberg.Literal { return iceberg.UUIDLiteral(uuid.UUID(a.Value(i))) }, nil
	case n.IsDecimal():
		return nil, fmt.Errorf("%w: a Decimal can't be a partition value", caterr.ErrInvalid)
	}
	return func(i int) iceberg.Literal { return iceberg.FixedLiteral(a.Value(i)) }, nil
}

// integerLiterals: UInt64 is a decimal(20,0) in Iceberg, DateTime a timestamp in microseconds.
func integerLiterals(n *schema.Node, a arrow.Array) (func(int) iceberg.Literal, error) {
	get, _, ok := arrowint.Values(a)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not a number", manifest.ErrSchema, a.DataType())
	}
	switch {
	case n.Basic == schema.DateTime:
		return func(i int) iceberg.Literal {
			return iceberg.TimestampLiteral(shardfmt.DateTime(get(i)).UnixMicro(false))
		}, nil
	case n.Basic == schema.Int64 && !n.Signed:
		return func(i int) iceberg.Literal {
			return iceberg.DecimalLiteral{Val: decimal128.FromU64(get(i))}
		}, nil
	case n.Basic == schema.Int64, n.Basic == schema.Int32 && !n.Signed:
		return func(i int) iceberg.Literal { return iceberg.Int64Literal(get(i)) }, nil
	}
	return func(i int) iceberg.Literal { return iceberg.Int32Literal(int64(get(i))) }, nil
}
