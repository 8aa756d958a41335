package schema_test

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Schemas are written as people write them; a path names a node.
func ExampleParse() {
	s, err := schema.Parse("at: datetime, tags: List<String>, pos: Struct<x: Float64, y: Float64 not null>")
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := s.Lookup("pos.y")
	fmt.Println(s.Count, "nodes;", y.Name, y.TypeName(), y.Nullable, err)

	_, err = s.Lookup("pos.z")
	fmt.Println(err)
	// Output:
	// 6 nodes; y Float64 false <nil>
	// no such field: "pos.z": unknown name "z" (did you mean x, y?)
}
