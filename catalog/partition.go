package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// firstPartitionID is where Iceberg numbers partition fields from.
const firstPartitionID = 1000

// parsePartition reads partition fields as they are typed.
func parsePartition(fields []string, ts *manifest.TableSchema) (*iceberg.PartitionSpec, error) {
	var out []iceberg.PartitionField
	decimal := "" // iceberg-go gives all decimals one Avro name, so that no manifest can be written with two of them
	for i, text := range fields {
		column, transform, suffix, err := parseTransform(text)
		if err != nil {
			return nil, err
		}
		n, err := partitionSource(ts, column)
		if path, ok := unquotedPath(column); err != nil && ok {
			column = path
			n, err = partitionSource(ts, column)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: partition %q: %w", ErrInvalid, text, err)
		}
		id := ts.IDs[n.ID]
		typ, ok := ts.Iceberg.FindTypeByID(id)
		if !ok || !transform.CanTransform(typ) {
			return nil, fmt.Errorf("%w: partition %q: %s does not apply to %s", ErrInvalid, text, transform, n.BareType())
		}
		if _, ok := transform.ResultType(typ).(iceberg.DecimalType); ok {
			if decimal != "" {
				return nil, fmt.Errorf("%w: partition %q: Iceberg's manifests can hold one partition field with values of type %s, and %q is one; use bucket(N, %s)",
					ErrInvalid, text, n.BareType(), decimal, column)
			}
			decimal = text
		}
		f := iceberg.PartitionField{
			SourceIDs: []int{id}, FieldID: firstPartitionID + i, Transform: transform,
			Name: strings.ReplaceAll(strings.Join(schema.SplitPath(column), "_"), ".", "_") + suffix,
		}
		for n, base := 2, f.Name; nameTaken(ts, f, out); n++ {
			f.Name = fmt.Sprintf("%s_%d", base, n)
		}
		out = append(out, f)
	}
	spec := iceberg.NewPartitionSpec(out...)
	return &spec, nil
}

// nameTaken reports whether the partition field's name belongs to another column of the table or to another of the fields,
// which Iceberg refuses.
func nameTaken(ts *manifest.TableSchema, f iceberg.PartitionField, others []iceberg.PartitionField) bool {
	if column, ok := ts.Iceberg.FindFieldByName(f.Name); ok && column.ID != f.SourceID() {
		return true
	}
	return slices.ContainsFunc(others, func(o iceberg.PartitionField) bool { return o.Name == f.Name })
}

// partitionSource is the column that a partition field is made of: one with one value a row, of a type whose values Iceberg's partitions hold.
func partitionSource(ts *manifest.TableSchema, column string) (*schema.Node, error) {
	n, err := ts.Shard.Lookup(column)
	if err != nil {
		return nil, err
	}
	for _, parent := range projection.PathTo(ts.Shard.Fields, n) {
		if parent != n && parent.Basic != schema.Struct {
			return nil, fmt.Errorf("column %q is in a %s; partition fields are top-level columns or members of structs", column, parent.BareType())
		}
	}
	typ, _ := ts.Iceberg.FindTypeByID(ts.IDs[n.ID])
	if _, text := typ.(iceberg.StringType); n.Basic >= schema.List || text && n.Basic != schema.String {
		return nil, fmt.Errorf("column %q is of type %s, which can't be a partition field", column, n.BareType())
	}
	return n, nil
}

// transforms that take a number and transforms that take none.
var transforms = map[bool][]string{
	true:  {"bucket", "truncate"},
	false: {"year", "month", "day", "hour", "identity"},
}

// unquotedPath is the path of a column some of whose names stand in double quotes, as ParseOrder reads them; false for any other text.
func unquotedPath(text string) (path string, ok bool) {
	path, words, _, more := cutKey(text)
	return path, strings.Contains(text, `"`) && words == "" && !more
}

// parseTransform reads "ts", "day(ts)", "bucket(16, id)" or "bucket[16](id)"; names in double quotes may hold anything.
func parseTransform(text string) (column string, t iceberg.Transform, suffix string, err error) {
	text = strings.TrimSpace(text)
	head, column, call := strings.Cut(text, "(")
	if _, ok := unquotedPath(text); !call || ok && text[0] == '"' {
		return text, iceberg.IdentityTransform{}, "", nil
	}
	column, ok := strings.CutSuffix(column, ")")
	head = strings.TrimSpace(head)
	if slices.Contains(transforms[true], head) {
		size, of, _ := strings.Cut(column, ",")
		head, column = head+"["+strings.TrimSpace(size)+"]", of
	}
	column = strings.TrimSpace(column)
	word, _, sized := strings.Cut(head, "[")
	ok = ok && column != "" && slices.Contains(transforms[sized], word)
	if t, err = iceberg.ParseTransform(head); err != nil || !ok {
		return "", nil, "", fmt.Errorf("%w: partition %q: expected a column, or year, month, day, hour(column), bucket(N, column), truncate(N, column)",
			ErrInvalid, text)
	}
	if word == "truncate" {
		word = "trunc"
	}
	return column, t, "_" + word, nil
}
