package startup_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/substrait-io/substrait-go/v8/extensions"

	_ "github.com/apache/iceberg-go/table/substrait"

	_ "github.com/shardcat/shardcat/cmd/shardcat/internal/startup"
)

// The catalogue of functions is not loaded at initialisation. What that costs is read from the
// runtime's own trace.
func TestInitialisationFillsNoTables(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const catalogue = "github.com/apache/iceberg-go/table/substrait"
	m := regexp.MustCompile(`(?m)^init ` + regexp.QuoteMeta(catalogue) + ` .* (\d+) bytes, (\d+) allocs$`).FindSubmatch(out)
	if m != nil { // a package that allocates nothing and takes no time has no line
		size, _ := strconv.Atoi(string(m[1]))
		allocations, _ := strconv.Atoi(string(m[2]))
		if allocations > 1_000 || size > 64<<10 {
			t.Errorf("the initialisation of %s made %d allocations of %d bytes; with its catalogue it makes 530,000, and with that of iceberg-go alone 9,000", catalogue, allocations, size)
		}
	}
	if !bytes.Contains(out, []byte("init github.com/substrait-io/substrait-go/v8/")) {
		t.Fatalf("no line for a package of substrait-go in\n%s", out)
	}
}

// Whoever requests the catalogue afterwards gets it.
func TestCatalogueIsThereForOthers(t *testing.T) {
	c, err := extensions.GetDefaultCollection()
	if err != nil {
		t.Fatal(err)
	}
	if !c.URNLoaded(extensions.SubstraitDefaultURNPrefix + "functions_arithmetic") {
		t.Error("arithmetic is missing in the catalogue of functions")
	}
}
