package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// startAllocations and startBytes are what the initialisation of all packages may allocate, of which most belongs to the clients of
// clouds and to their messages, and to the schemas of manifests. It was 584,000 times before package startup, 46,000 times, 6.4 MB, with
// it, and 37,000 times, 6.0 MB, since it keeps Arrow's functions and the plurals of English out too. Each megabyte is 0.7 ms of
// faulting pages in, besides what fills it. startLarge is how many packages may allocate more than largeAllocations times: three of
// iceberg-go and its filters, and one of messages of Envoy that the tag disable_grpc_modules leaves out.
const (
	startAllocations = 42_000
	startBytes       = 6_600_000
	startLarge       = 4
	largeAllocations = 1_000
)

func TestStartAllocatesLittle(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1,gctrace=1", "GOGC=100")
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
		t.Errorf("%d allocations of %d bytes before main, %d and %d are allowed:\n%s", allocations, size, startAllocations, startBytes, out)
	}
	if len(large) > startLarge {
		t.Errorf("%d packages make more than %d allocations, %d are allowed: %v", len(large), largeAllocations, startLarge, large)
	}
	if gc := regexp.MustCompile(`(?m)^gc \d+ @.*$`).Find(out); gc != nil {
		t.Errorf("garbage was collected before a command began: %s", gc)
	}
}
