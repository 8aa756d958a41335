package corrupt_test

import (
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// What finds the damage knows an offset in its slice; its callers add where the slice begins, and the object.
func Example() {
	err := corrupt.At(4, "checksum is %08x, want %08x", 0xdeadbeef, 0x1234)
	err = corrupt.Locate(err, "s3://logs/day.amudai.shard", 4096)
	fmt.Println(err)
	fmt.Println(errors.Is(err, corrupt.ErrCorrupt), errors.Is(err, corrupt.ErrUnsupported))
	// Output:
	// corrupt data: s3://logs/day.amudai.shard at offset 4100: checksum is deadbeef, want 00001234
	// true false
}
