package filter_test

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A filter is parsed once and bound to each schema that it is used on, which checks names and types.
func ExampleBind() {
	expr, err := filter.Parse(`level = 'error' AND (took > 1.5 OR message HAS 'timeout')`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{
		"level: String, took: Float64, message: String",
		"level: String, took: Boolean, message: String",
	} {
		s, err := schema.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = filter.Bind(expr, s)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// filter: can't compare 1.5 with column "took": it is a Boolean: expected TRUE or FALSE
}
