package icebergaccess

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/apache/iceberg-go"
)

// AvroSpec is a partition spec as the schema of a manifest has it: Avro's names are of ASCII letters, digits and underscores and don't
// begin with a digit, and iceberg-go refuses to write any others, while partition fields may have any name. Other characters
// are written as Iceberg does for columns, _x and their number in hexadecimal, a first digit behind an underscore. Readers go by field IDs.
func AvroSpec(spec iceberg.PartitionSpec) iceberg.PartitionSpec {
	var fields []iceberg.PartitionField
	var names []string
	changed := false
	for _, f := range spec.Fields() {
		name := avroName(f.Name)
		for n, base := 2, name; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		changed = changed || name != f.Name
		f.Name = name
		fields, names = append(fields, f), append(names, name)
	}
	if !changed {
		return spec
	}
	return iceberg.NewPartitionSpecID(spec.ID(), fields...)
}

// avroName is a name, or what stands for it in Avro.
func avroName(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '_', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9' && i > 0:
			b.WriteRune(r)
		case '0' <= r && r <= '9':
			b.WriteString("_" + string(r))
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, "_x%X", unit)
			}
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}
