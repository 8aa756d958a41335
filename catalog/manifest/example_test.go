package manifest_test

import (
	"fmt"
	"log"

	"github.com/shardcat/shardcat/catalog/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Shards of one shape can be merged without rewriting: the names of their fields do not count, types and field ids do.
func ExampleShape() {
	shape := func(text string) int64 {
		s, err := schema.Parse(text)
		if err != nil {
			log.Fatal(err)
		}
		return manifest.Shape(s, []int{1, 2})
	}
	fmt.Println(shape("id: Int64, level: Int8") == shape("key: Int64, level: Int8"))
	fmt.Println(shape("id: Int64, level: Int8") == shape("id: Int64, level: Int16"))
	// Output:
	// true
	// false
}
