package manifest

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/iceberg-go"
)

// TestSchemasAreRefusedWhereManifestsEnd: the largest schema that is accepted makes a manifest, and the next is refused by
// name, before anything is written.
func TestSchemasAreRefusedWhereManifestsEnd(t *testing.T) {
	sized := func(columns int) *iceberg.Schema {
		fields := make([]iceberg.NestedField, columns)
		for i := range fields {
			fields[i] = iceberg.NestedField{ID: i + 1, Name: fmt.Sprintf("c%d", i), Type: iceberg.PrimitiveTypes.Int64}
		}
		return iceberg.NewSchema(0, fields...)
	}
	low, high := 10_000, 30_000
	for low+1 < high {
		if half := (low + high) / 2; CheckSize(sized(half)) == nil {
			low = half
		} else {
			high = half
		}
	}
	if _, err := iceberg.NewManifestWriter(2, io.Discard, *iceberg.UnpartitionedSpec, sized(low), 1); err != nil {
		t.Errorf("%d columns: %v", low, err)
	}
	if _, err := iceberg.NewManifestWriter(2, io.Discard, *iceberg.UnpartitionedSpec, sized(high), 1); err == nil {
		t.Errorf("%d columns are refused and could be written", high)
	}
	if err := CheckSize(sized(high)); !errors.Is(err, errTooManyColumns) {
		t.Errorf("%d columns: %v", high, err)
	}
}
