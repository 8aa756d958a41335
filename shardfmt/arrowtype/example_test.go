package arrowtype_test

import (
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// The schema of a shard for records of other Arrow types, and what changes.
func ExampleFromArrow() {
	from := arrow.NewSchema([]arrow.Field{
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}},
		{Name: "state", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	}, nil)
	s, report, err := arrowtype.FromArrow(from)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s)
	for _, note := range report.Notes {
		fmt.Println(note.Field+":", note.What)
	}
	// Output:
	// at: DateTime not null, state: String
	// state: dictionary encoding is chosen by the shard writer
}
