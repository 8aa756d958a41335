package main

import (
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/spf13/cobra"
)

// FuzzConfig: whatever a configuration file has, it gives settings or an error, and takes memory by its size: anchors that multiply are refused.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"", "catalog: sqlite:x.db\nwarehouse: wh\n", "tables:\n  \"*\":\n    target-size: 1GiB\n  web.*: {schedule: 1h}\n  web.hits:\n    pause: \"true\"\n",
		"tables: {x: {unknown: 1}}", "tables: 3", "- a", "max-memory: [1]", "catalog: &a x\nwarehouse: *a", "a: &a [x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]",
		"{", "\x00", "max-memory: 99999999999999999999G", "config: x", "help: true", "tables:\n  \"*\": {where: \"id = \"}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "shardcat.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		command := &cobra.Command{}
		new(app).addGlobalFlags(command)
		before := allocated()
		c, err := readConfig(file, command.PersistentFlags())
		used := allocated() - before
		if (c == nil) != (err != nil) {
			t.Errorf("%v, %v", c, err)
		}
		if most := uint64(64<<20 + 4096*len(text)); used > most {
			t.Errorf("%d bytes take %d of memory", len(text), used)
		}
		if err == nil && c.tables.Check() != nil {
			t.Errorf("policies that are not valid: %v", c.tables.Check())
		}
	})
}

// allocated is how many bytes were ever allocated, without stopping other goroutines as runtime.ReadMemStats does.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
