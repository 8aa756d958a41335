package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// render is the section, as a fragment of the page on performance that is recorded.
func (r *report) render() string {
	var b strings.Builder
	fmt.Fprintf(&b, "recorded: %s\ncommand: `cd bench && go run ./search -lines %d -python PYTHON -dir DIR -o performance/page/220-searching.md && go run ./performance -render`\n\n", r.began.Format(time.DateOnly), r.log.Lines)
	b.WriteString("## Searching\n\n")
	fmt.Fprintf(&b, "A log of %s lines, %s MB of values, of which %s MB are messages (`bench/search/log.go`), on %s with %d CPUs; load of the machine at the start %s. ",
		grouped(int64(r.log.Lines)), mega(r.log.All), mega(r.log.Text), processorName(), runtime.NumCPU(), r.load)
	b.WriteString("What counts is processor time; other work on the machine slows both threads of a core, so ratios within a table say more than seconds.\n\n")
	if r.log.Lines < 10_000_000 {
		b.WriteString("The command makes 10 million lines unless it gets another number; this run had fewer.\n\n")
	}
	for _, m := range r.missing {
		fmt.Fprintf(&b, "Left out: %s.\n\n", m)
	}
	r.builds(&b)
	r.local(&b)
	r.distant(&b)
	return b.String()
}

// builds is the table of what building cost.
func (r *report) builds(b *strings.Builder) {
	b.WriteString("### Building\n\nOne thread, a process each, reading the log from an Arrow file included. *Of the index* is the processor time beyond that without an index, and messages (trace ids for the hash index) " +
		"a second of it; of Lance the time of its own step.\n\n" +
		"| | processor, s | all values, MB/s | of the index, s | text indexed, MB/s | peak memory, MB | data, MB | index, MB | load |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	var bare time.Duration
	for _, x := range r.results {
		c := x.built
		if x.name == "shardcat, no index" {
			bare = c.Processor
		}
		extra, rate := "–", "–"
		if beyond := r.indexTime(&x, bare); beyond > 0 {
			extra, rate = seconds(beyond), fmt.Sprintf("%.0f", float64(r.indexed(&x))/beyond.Seconds()/1e6)
		}
		index, memory := "–", "–"
		if c.Memory > 0 {
			memory = mega(c.Memory)
		}
		if c.Index > 0 {
			index = mega(c.Index)
		}
		name := x.name
		if c.Version != "" {
			name += ", " + strings.TrimPrefix(c.Version, "ripgrep ")
		}
		fmt.Fprintf(b, "| %s | %s | %.0f | %s | %s | %s | %s | %s | %s |\n", name, seconds(c.Processor), float64(r.log.All)/c.Processor.Seconds()/1e6, extra, rate,
			memory, mega(c.Data), index, c.Load)
	}
	b.WriteString("\nTantivy takes documents one by one from Python, which is part of its time; its index holds the words and the trace ids, Lance's index both of its indexes. Bloom filters are part of " +
		"the Parquet file. P9 asks for 50 MB/s of text a core for our text index.\n\n")
}

// indexTime is the processor time of an index alone, 0 where it isn't known.
func (r *report) indexTime(x *result, bare time.Duration) time.Duration {
	for _, p := range x.built.Parts {
		if p.What == "text index" {
			return p.Processor
		}
	}
	if strings.HasPrefix(x.name, "shardcat") && bare > 0 {
		return x.built.Processor - bare
	}
	return 0
}

// indexed is how many bytes of text an index is of.
func (r *report) indexed(x *result) int64 {
	if strings.HasSuffix(x.name, "hash index") {
		return 32 * int64(r.log.Lines)
	}
	return r.log.Text
}

// local is the table of queries on files.
func (r *report) local(b *strings.Builder) {
	b.WriteString("### Asking files\n\nProcessor time in milliseconds, and the wall's in brackets, of the best of ")
	fmt.Fprintf(b, "%d turns; each opens its files anew, one thread. All count the same lines.\n\n", r.options.turns)
	r.table(b, func(x *result, i int) string {
		a := &x.local[i]
		if a.Unanswered != "" {
			return a.Unanswered
		}
		return fmt.Sprintf("%s (%s)", millis(a.Processor), millis(a.Wall))
	}, func(x *result) bool { return len(x.local) > 0 })
	b.WriteString("No needle is part of another word, so that `HAS 'kafka'`, the term `kafka`, `LIKE '%kafka%'` and ripgrep's fixed string are true of the same lines. DuckDB and ripgrep read all messages for words; " +
		"for a prefix and a text within a word Lance does, too. Tantivy finds a text within a word by going through its terms with a regular expression; ripgrep looks for two words in the order in which " +
		"the log has them. The rows are all columns of 100 lines.\n\n" +
		"Our index narrows what is read, and the filter is still tested on every value that is left: a rare word costs little, a word that most blocks of 256 lines have as much as reading them all, where Tantivy and Lance " +
		"answer a count from the index alone. `HAS` ignores case and knows where words end, `LIKE` does neither: where all values are read, compare a word with a text within a word.\n\n")
}

// distant is the table of queries on a slow store.
func (r *report) distant(b *strings.Builder) {
	have := func(x *result) bool { return len(x.distant) > 0 }
	any := false
	for _, x := range r.results {
		any = any || have(&x)
	}
	if !any {
		return
	}
	b.WriteString("### Asking a store that takes 30 ms\n\nA request is answered after 30 ms, and then at 50 MiB/s a stream: requests, MB that arrived, and seconds by the wall; of ours also, after the requests, how many of them had to " +
		"wait for one another. Each query opens the files anew, once. Ours go through `internal/testkit/blobfake`; DuckDB (httpfs) and Lance (S3) through a server on the loopback interface that is as slow. Tantivy and ripgrep read local files alone.\n\n")
	r.table(b, func(x *result, i int) string {
		a := &x.distant[i]
		if a.Unanswered != "" {
			return a.Unanswered
		}
		requests := fmt.Sprint(a.Requests)
		if a.Steps > 0 {
			requests += fmt.Sprintf(" in %d steps", a.Steps)
		}
		return fmt.Sprintf("%s; %.1f MB; %.2f s", requests, float64(a.Bytes)/1e6, a.Wall.Seconds())
	}, have)
}

// table prints a line for each query and a column for each contestant of which have is true.
func (r *report) table(b *strings.Builder, cell func(x *result, i int) string, have func(x *result) bool) {
	b.WriteString("| |")
	line := "| --- |"
	for _, x := range r.results {
		if have(&x) {
			b.WriteString(" " + x.name + " |")
			line += " ---: |"
		}
	}
	b.WriteString("\n" + line + "\n")
	for i, q := range r.log.Queries {
		fmt.Fprintf(b, "| %s: %s |", q.Label, grouped(int64(q.Want)))
		for _, x := range r.results {
			if have(&x) {
				b.WriteString(" " + cell(&x, i) + " |")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

func mega(n int64) string { return grouped((n + 500_000) / 1_000_000) }

// millis has two digits below 10 ms.
func millis(d time.Duration) string {
	ms := float64(d.Nanoseconds()) / 1e6
	if ms < 10 {
		return fmt.Sprintf("%.1f", ms)
	}
	return grouped(int64(ms + 0.5))
}

// grouped puts commas between groups of three digits.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// processorName is what the machine calls its processor.
func processorName() string {
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "an unknown processor"
}
