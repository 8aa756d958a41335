package convert_test

import (
	"os"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// TestMain lends the test binary as the process that reads Parquet.
func TestMain(m *testing.M) {
	fileio.ServeReader()
	os.Exit(m.Run())
}
