package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// startAllocations and startBytes are what the initialisation of all packages may allocate, most of it for the clients of clouds, their
// messages and the schemas of manifests: 51,000 times, 7.3 MB, with package startup and 584,000 times without it. startLarge is how many
// packages may allocate more than largeAllocations times: three of iceberg-go and its filters, compute of Arrow, inflection, and one of
// messages of Envoy that the tag disable_grpc_modules leaves out.
const (
	startAllocations = 56_000
	startBytes       = 8_000_000
	startLarge       = 6
	largeAllocations = 1_000
)

func TestStartAllocatesLittle(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	size, allocations := 0, 0
	var large []string
	found := regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, (\d+) allocs$`).FindAllSubmatch(out, -1)
	for _, m := range found {
		if bytes.HasSuffix(m[1], []byte("/cmd/shardcat")) {
			continue // this package's, with what its tests make
		}
		b, _ := strconv.Atoi(string(m[2]))
		n, _ := strconv.Atoi(string(m[3]))
		size += b
		allocations += n
		if n > largeAllocations {
			large = append(large, string(m[1]))
		}
	}
	if len(found) < 100 {
		t.Fatalf("%d packages told what they allocate:\n%s", len(found), bytes.Join(bytes.SplitN(out, []byte("\n"), 20), nil))
	}
	if allocations > startAllocations || size > startBytes {
		t.Errorf("%d allocations of %d bytes before main, %d and %d are allowed; GODEBUG=inittrace=1 lists the packages", allocations, size, startAllocations, startBytes)
	}
	if len(large) > startLarge {
		t.Errorf("%d packages make more than %d allocations, %d are allowed: %v", len(large), largeAllocations, startLarge, large)
	}
}
