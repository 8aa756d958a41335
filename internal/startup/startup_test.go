package startup_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/substrait-io/substrait-go/v8/extensions"

	_ "github.com/apache/iceberg-go/table/substrait"

	_ "github.com/shardcat/shardcat/internal/startup"
)

// The package that loads the catalogue of functions when it is initialised, allocates next to nothing beside this one:
// half a million times without it, and 9,000 times if it added its own. What it costs is read from the runtime's own trace.
func TestInitialisationLoadsNoCatalogue(t *testing.T) {
	const scanner = "github.com/apache/iceberg-go/table/substrait"
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		var at, took string
		var size, allocations int
		if n, _ := fmt.Sscanf(string(line), "init "+scanner+" @%s ms, %s ms clock, %d bytes, %d allocs", &at, &took, &size, &allocations); n < 4 {
			continue
		}
		if allocations > 1_000 || size > 64<<10 {
			t.Errorf("the initialisation of the scanner made %d allocations of %d bytes", allocations, size)
		}
		return
	}
	t.Fatalf("no line for %s in\n%s", scanner, out)
}

// Whoever asks for the catalogue afterwards gets it.
func TestCatalogueIsThereForOthers(t *testing.T) {
	c, err := extensions.GetDefaultCollection()
	if err != nil {
		t.Fatal(err)
	}
	if !c.URNLoaded(extensions.SubstraitDefaultURNPrefix + "functions_arithmetic") {
		t.Error("arithmetic is missing in the catalogue of functions")
	}
}
