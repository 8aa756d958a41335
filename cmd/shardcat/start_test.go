package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// startAllocations is what the initialisation of all packages may allocate, of which most belongs to the clients of clouds
// and to their messages: it was 584,000 times before package startup, and 59,000 after.
const startAllocations = 90_000

func TestStartAllocatesLittle(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	total := 0
	found := regexp.MustCompile(`(?m)^init .* (\d+) allocs$`).FindAllSubmatch(out, -1)
	for _, m := range found {
		n, _ := strconv.Atoi(string(m[1]))
		total += n
	}
	if len(found) < 100 {
		t.Fatalf("%d packages told what they allocate:\n%s", len(found), bytes.Join(bytes.SplitN(out, []byte("\n"), 20), nil))
	}
	if total > startAllocations {
		t.Errorf("%d allocations before main, %d are allowed:\n%s", total, startAllocations, out)
	}
}
