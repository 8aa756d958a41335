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
// clouds and to their messages, and to the schemas of manifests: it was 584,000 times before package startup, and 46,000 times,
// 6.4 MB, after. Each megabyte is 0.7 ms of faulting pages in, besides what fills it.
const (
	startAllocations = 60_000
	startBytes       = 8 << 20
)

func TestStartAllocatesLittle(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1,gctrace=1", "GOGC=100")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	size, allocations := 0, 0
	found := regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, (\d+) allocs$`).FindAllSubmatch(out, -1)
	for _, m := range found {
		if bytes.HasSuffix(m[1], []byte("/cmd/shardcat")) {
			continue // this package's, with what its tests make
		}
		b, _ := strconv.Atoi(string(m[2]))
		n, _ := strconv.Atoi(string(m[3]))
		size += b
		allocations += n
	}
	if len(found) < 100 {
		t.Fatalf("%d packages told what they allocate:\n%s", len(found), bytes.Join(bytes.SplitN(out, []byte("\n"), 20), nil))
	}
	if allocations > startAllocations || size > startBytes {
		t.Errorf("%d allocations of %d bytes before main, %d and %d are allowed:\n%s", allocations, size, startAllocations, startBytes, out)
	}
	if gc := regexp.MustCompile(`(?m)^gc \d+ @.*$`).Find(out); gc != nil {
		t.Errorf("garbage was collected before a command began: %s", gc)
	}
}
