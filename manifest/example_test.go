package manifest_test

import (
	"fmt"
	"log"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The Iceberg schema of a table of shards; what Iceberg's types do not state is kept as notes by field id.
func ExampleToIceberg() {
	s, err := schema.Parse("id: Int64, level: Int8, at: DateTime")
	if err != nil {
		log.Fatal(err)
	}
	ice, notes, err := manifest.ToIceberg(s, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, field := range ice.Fields() {
		fmt.Printf("%d %s %s %q\n", field.ID, field.Name, field.Type, notes[field.ID].Basic)
	}
	// Output:
	// 1 id long ""
	// 2 level int "Int8"
	// 3 at timestamptz ""
}
