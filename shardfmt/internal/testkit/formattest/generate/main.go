// Command generate writes the test vectors of the format to a folder: go generate ./shardfmt/internal/testkit/formattest.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/shardcat/shardcat/shardfmt/internal/testkit/formattest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	files, err := formattest.Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := f.Encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, f.Name+".json"), b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	page, err := formattest.ShardPage()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "shard.md"), page, 0o644)
}
