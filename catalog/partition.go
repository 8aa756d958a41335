package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
)

// firstPartitionID is where Iceberg numbers partition fields from.
const firstPartitionID = 1000

// parsePartition reads partition fields as they are typed.
func parsePartition(fields []string, sc *iceberg.Schema) (*iceberg.PartitionSpec, error) {
	var out []iceberg.PartitionField
	for i, text := range fields {
		column, transform, suffix, err := parseTransform(text)
		if err != nil {
			return nil, err
		}
		source, ok := sc.FindFieldByName(column)
		if !ok {
			return nil, fmt.Errorf("%w: partition %q: the table has no column %q", ErrInvalid, text, column)
		}
		if !transform.CanTransform(source.Type) {
			return nil, fmt.Errorf("%w: partition %q: %s does not apply to %s", ErrInvalid, text, transform, source.Type)
		}
		name := strings.ReplaceAll(column, ".", "_") + suffix
		out = append(out, iceberg.PartitionField{
			SourceIDs: []int{source.ID}, FieldID: firstPartitionID + i, Name: name, Transform: transform,
		})
	}
	spec := iceberg.NewPartitionSpec(out...)
	return &spec, nil
}

// transforms that take a number and transforms that take none.
var transforms = map[bool][]string{
	true:  {"bucket", "truncate"},
	false: {"year", "month", "day", "hour", "identity"},
}

// parseTransform reads "ts", "day(ts)", "bucket(16, id)" or "bucket[16](id)".
func parseTransform(text string) (column string, t iceberg.Transform, suffix string, err error) {
	head, inner, call := strings.Cut(strings.TrimSpace(text), "(")
	if !call {
		return head, iceberg.IdentityTransform{}, "", nil
	}
	inner, ok := strings.CutSuffix(inner, ")")
	arguments := strings.Split(inner, ",")
	column = strings.TrimSpace(arguments[len(arguments)-1])
	head = strings.TrimSpace(head)
	if len(arguments) == 2 {
		head += "[" + strings.TrimSpace(arguments[0]) + "]"
	}
	word, _, sized := strings.Cut(head, "[")
	ok = ok && len(arguments) <= 2 && column != "" && slices.Contains(transforms[sized], word)
	if t, err = iceberg.ParseTransform(head); err != nil || !ok {
		return "", nil, "", fmt.Errorf("%w: partition %q: want a column, or year, month, day, hour(column), bucket(N, column), truncate(N, column)",
			ErrInvalid, text)
	}
	if word == "truncate" {
		word = "trunc"
	}
	return column, t, "_" + word, nil
}
