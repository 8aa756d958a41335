// Command write leaves the files of a version in a folder that must not exist:
//
//	go run ./internal/testkit/compat/write testdata/released/VERSION
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/shardcat/shardcat/internal/testkit/compat"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FOLDER")
		os.Exit(2)
	}
	if err := compat.Write(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
