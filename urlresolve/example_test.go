package urlresolve_test

import (
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/urlresolve"
)

// A reference leads into the folder of the shard's root, or where a policy allows; everything else is refused before
// any request is made.
func ExampleResolve() {
	const root = "s3://bucket/tables/t/r.amudai.shard"
	archive, err := urlresolve.ParsePrefix("s3://archive/t")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, ref := range []string{"d/x.stripe", "s3://archive/t/x.stripe", "s3://other/x", "../x", "http://169.254.169.254/latest"} {
		url, err := urlresolve.Resolve(root, ref, urlresolve.Policy{Allow: []urlresolve.Prefix{archive}})
		fmt.Println(ref, "→", url, errors.Is(err, urlresolve.ErrRefused))
	}
	// Output:
	// d/x.stripe → s3://bucket/tables/t/d/x.stripe false
	// s3://archive/t/x.stripe → s3://archive/t/x.stripe false
	// s3://other/x →  true
	// ../x →  true
	// http://169.254.169.254/latest →  true
}
