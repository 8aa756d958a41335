package startup_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/substrait-io/substrait-go/v8/extensions"

	_ "github.com/apache/iceberg-go/catalog/sql" // with the mapper that forms plurals
	_ "github.com/apache/iceberg-go/table/substrait"

	_ "github.com/shardcat/shardcat/cmd/shardcat/internal/startup"
)

// Packages that fill tables when they are initialised allocate next to nothing beside this one. What they cost is read from the
// runtime's own trace.
func TestInitialisationFillsNoTables(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, without := range map[string]int{
		"github.com/apache/iceberg-go/table/substrait": 500_000, // 9,000 if it added its own catalogue only
		"github.com/apache/arrow-go/v18/arrow/compute": 6_500,
		"github.com/jinzhu/inflection":                 5_700,
	} {
		m := regexp.MustCompile(`(?m)^init ` + regexp.QuoteMeta(path) + ` .* (\d+) bytes, (\d+) allocs$`).FindSubmatch(out)
		if m == nil {
			continue // a package that allocates nothing and takes no time has no line
		}
		size, _ := strconv.Atoi(string(m[1]))
		allocations, _ := strconv.Atoi(string(m[2]))
		if allocations > 1_000 || size > 64<<10 {
			t.Errorf("the initialisation of %s made %d allocations of %d bytes; with its tables it makes %d", path, allocations, size, without)
		}
	}
	if !bytes.Contains(out, []byte("init github.com/apache/arrow-go/v18/arrow/compute ")) {
		t.Fatalf("no line for compute in\n%s", out)
	}
}

// Functions of Arrow are there for whoever asks, and all of them: as many as are registered without this package.
func TestFunctionsAreThereForOthers(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1, 2, 3}, nil)
	column := b.NewArray()
	sum, err := compute.Add(t.Context(), compute.ArithmeticOptions{}, compute.NewDatum(column), compute.NewDatum(int64(10)))
	if err != nil {
		t.Fatal(err)
	}
	if got := sum.(*compute.ArrayDatum).MakeArray().String(); got != "[11 12 13]" {
		t.Errorf("%s", got)
	}
	lazy := compute.GetFunctionRegistry()
	registered = sync.Once{}
	if all := compute.GetFunctionRegistry(); lazy == all || !slices.Equal(lazy.GetFunctionNames(), all.GetFunctionNames()) || lazy.NumFunctions() != all.NumFunctions() {
		t.Errorf("functions\n%q\nregistered by compute itself are\n%q", lazy.GetFunctionNames(), all.GetFunctionNames())
	}
}

// registered is what compute.GetFunctionRegistry registers its functions by.
//
//go:linkname registered github.com/apache/arrow-go/v18/arrow/compute.once
var registered sync.Once

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
