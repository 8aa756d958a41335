// Command performance measures the kernels and columns of package bench and writes the tables of
// docs/performance.md between their marks. It takes a few minutes.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
)

func main() {
	out := flag.String("o", "", "file whose tables are replaced; standard output if empty")
	cpus := flag.Int("cpu", 2, "measure columns with one worker, and with this many")
	flag.Parse()
	log.SetFlags(0)
	tables, err := tables(*cpus)
	if err != nil {
		log.Fatal(err)
	}
	if *out == "" {
		fmt.Print(tables)
		return
	}
	if err := replace(*out, tables); err != nil {
		log.Fatal(err)
	}
}

// Marks around the tables in the document.
const (
	begin = "<!-- tables: written by bench/performance -->\n"
	end   = "<!-- end of tables -->\n"
)

// replace puts the tables between the marks of a document.
func replace(name, tables string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks %q and %q", name, begin, end)
	}
	return os.WriteFile(name, []byte(head+begin+tables+end+tail), 0o644)
}

// machine is the line that says where this was measured.
func machine() string {
	model := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("Measured on: %s, %d CPUs, %s/%s, %s.\n\n", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
