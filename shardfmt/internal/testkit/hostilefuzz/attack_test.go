package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
)

// TestMain lends the test binary as the process that reads Parquet.
func TestMain(m *testing.M) {
	fileio.ServeReader()
	os.Exit(m.Run())
}

// A hundred cases and more of one seed hurt nobody; `go run ./shardfmt/internal/testkit/hostilefuzz` tries more. The shards of the reference are
// attacked too where they are there.
func TestAttack(t *testing.T) {
	cases := int64(150)
	if testing.Short() {
		cases = 40
	}
	o := options{seed: 1, corpus: os.Getenv(interop.Variable), module: "../../../..", memory: 256 << 20, slow: time.Minute}
	a, err := newAttack(context.Background(), o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for n := range cases {
		s, err := a.subject(n)
		if err != nil {
			t.Fatal(err)
		}
		v := a.run(s)
		outcomes[v.Outcome]++
		if v.Fault != "" {
			t.Errorf("case %d: %s: %s\n%s", n, v.Fault, s, v.Detail)
		}
	}
	for _, o := range []string{refused, sameRows, otherRows} {
		if outcomes[o] == 0 {
			t.Errorf("no case ended with %s: %v", o, outcomes)
		}
	}
}
