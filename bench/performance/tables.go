package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/shardcat/shardcat/bench"
	"github.com/shardcat/shardcat/internal/encode"
	"github.com/shardcat/shardcat/internal/kernel"
)

// tables measures everything.
func tables(cpus int) (string, error) {
	var b strings.Builder
	b.WriteString(machine())
	fmt.Fprintf(&b, "Kernel tier: %s.\n\n", kernel.Tier())
	for _, part := range []func(*strings.Builder, int) error{kernels, goals, fileScans, columns, texts, writers} {
		if err := part(&b, cpus); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// kernels is the table of inner loops.
func kernels(b *strings.Builder, _ int) error {
	log.Print("kernels")
	list := bench.Kernels()
	contestants := make([]bench.Contestant, len(list))
	for i, k := range list {
		contestants[i] = k.Contestant()
	}
	results, err := bench.Measure(contestants, 1)
	if err != nil {
		return err
	}
	copies := map[int]float64{} // GB/s of memcpy by bytes per value
	b.WriteString("### Kernels, data in the first-level cache, one core\n\n")
	b.WriteString("| kernel | G values/s | GB/s | of memcpy |\n| --- | ---: | ---: | ---: |\n")
	for i, k := range list {
		seconds := results[i].Seconds / bench.KernelRounds
		gb := float64(k.Bytes) / seconds / 1e9
		if strings.HasPrefix(k.Name, "memcpy") {
			copies[k.Bytes/k.Values] = gb
		}
		fmt.Fprintf(b, "| %s | %.2f | %.1f | %.2f |\n", k.Name, float64(k.Values)/seconds/1e9, gb, gb/copies[k.Bytes/k.Values])
	}
	b.WriteString("\n")
	return nil
}

// goals is the table of P1: checksummed columns against memcpy, with one worker and with all.
func goals(b *strings.Builder, cpus int) error {
	b.WriteString("### Columns against memcpy (P1)\n\nChecksum, presence and values of every block into a slice; 2²⁰ values of 8 bytes. " +
		"\"Fresh\" allocates the slice each time, as does its memcpy.\n\n" +
		"| column | encoding | GB/s | of memcpy | fresh: of memcpy |")
	fmt.Fprintf(b, " %d workers: of memcpy |\n| --- | --- | ---: | ---: | ---: | ---: |\n", cpus)
	for _, c := range bench.Columns(bench.Values) {
		log.Print("P1: ", c.Name)
		reused, err1 := bench.ReadShardcat(c, encode.Balanced, false)
		fresh, err2 := bench.ReadShardcat(c, encode.Balanced, true)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%v %v", err1, err2)
		}
		list := []bench.Contestant{reused, bench.Memcpy(c, false), fresh, bench.Memcpy(c, true)}
		one, err := bench.Measure(list, 1)
		if err != nil {
			return err
		}
		all, err := bench.Measure(list[:2], cpus)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s | %.1f | %.2f | %.2f | %.2f |\n", c.Name, reused.Note, gbs(c, one[0]),
			one[1].Seconds/one[0].Seconds, one[3].Seconds/one[2].Seconds, all[1].Seconds/all[0].Seconds)
	}
	b.WriteString("\n")
	return nil
}

// fileScans is the table of scans by the public interface against the loop over the same blocks.
func fileScans(b *strings.Builder, _ int) error {
	dir, err := os.MkdirTemp("", "shardcat-scans")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, err := bench.FileColumns(dir, bench.Values)
	if err != nil {
		return err
	}
	b.WriteString("### Scan of a column against the bare loop over its blocks\n\n" +
		"A shard of one column of 2²⁰ values in a file. The bare loop decodes its blocks into the same memory, with checksums; \"read\" reads " +
		"the file into the same memory before, and \"fresh\" takes new memory for both, as `Scan` must, whose batches may be kept. `Scan` opens the stripe, reads the file and makes Arrow batches, in fresh memory or " +
		"(`ReuseBatches`) in that of the batch before. Processor time of the whole process, collections of garbage included, one worker.\n\n" +
		"| column | encoding | bare, ns a value | with read | with read, fresh | Scan | Scan, ReuseBatches |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, f := range list {
		log.Print("Scan: ", f.Name)
		r, err := bench.MeasureProcess(bench.Scans(f))
		if err != nil {
			return err
		}
		bare := r[0].Seconds
		fmt.Fprintf(b, "| %s | %s | %.2f | %.2f × | %.2f × | %.2f × | %.2f × |\n", f.Name, f.Kind, 1e9*bare/float64(f.Rows), r[1].Seconds/bare,
			r[2].Seconds/bare, r[3].Seconds/bare, r[4].Seconds/bare)
	}
	b.WriteString("\n")
	return nil
}

func gbs(c *bench.Column, r bench.Result) float64 { return float64(c.Bytes()) / r.Seconds / 1e9 }

// columns is the table of P3: every way to read a column of numbers.
func columns(b *strings.Builder, _ int) error {
	b.WriteString("### Scans of numbers against Parquet (P3), one worker\n\nThe whole column, batch after batch into the same memory: " +
		"8192 values at a time from the peers, a block at a time from ours, with its checksum.\n\n")
	return against(b, bench.Columns(bench.Values), encode.Balanced, encode.HighCompression)
}

// texts is the same for strings.
func texts(b *strings.Builder, _ int) error {
	b.WriteString("### Scans of strings against Parquet, one worker\n\nWithout the value dictionary that a field of few distinct strings gets; " +
		"parquet-go's strings are copied into Go strings, arrow-go's point into its pages, ours are bytes and offsets.\n\n")
	return against(b, bench.TextColumns(bench.Values/4), encode.Balanced, encode.HighCompression)
}

// against measures columns as our profiles and as Parquet.
func against(b *strings.Builder, list []*bench.Column, profiles ...encode.Profile) error {
	b.WriteString("| column | reader | stored bytes | ms | GB/s | times as fast as |\n| --- | --- | ---: | ---: | ---: | --- |\n")
	for _, c := range list {
		log.Print("P3: ", c.Name)
		contestants, err := everyone(c, profiles)
		if err != nil {
			return err
		}
		results, err := bench.Measure(contestants, 1)
		if err != nil {
			return err
		}
		for i, r := range results {
			fmt.Fprintf(b, "| %s | %s | %d | %.3f | %.2f | %s |\n", first(i == 0, c.Name), r.Name, r.Size, 1e3*r.Seconds,
				gbs(c, r), ratios(i < len(profiles), r, results[len(profiles):]))
		}
	}
	b.WriteString("\n")
	return nil
}

func first(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// everyone is our profiles, then the peers.
func everyone(c *bench.Column, profiles []encode.Profile) (list []bench.Contestant, err error) {
	for _, p := range profiles {
		s, err := bench.ScanShardcat(c, p)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	pg, err := bench.ParquetGo(c)
	if err != nil {
		return nil, err
	}
	ag, err := bench.ArrowGo(c)
	return append(append(list, pg...), ag...), err
}

// ratios compares one of ours with the fastest and with the smallest file of each peer.
func ratios(ours bool, r bench.Result, peers []bench.Result) string {
	if !ours {
		return ""
	}
	var parts []string
	for _, name := range []string{"parquet-go", "arrow-go"} {
		fast, small := bench.Result{}, bench.Result{}
		for _, p := range peers {
			if !strings.HasPrefix(p.Name, name) {
				continue
			}
			if fast.Seconds == 0 || p.Seconds < fast.Seconds {
				fast = p
			}
			if small.Size == 0 || p.Size < small.Size {
				small = p
			}
		}
		parts = append(parts, fmt.Sprintf("%s: %.1f × its fastest, %.1f × its smallest", name, fast.Seconds/r.Seconds, small.Seconds/r.Seconds))
	}
	return strings.Join(parts, "; ")
}

// writers is the table of P9, the part of it that is the encoders.
func writers(b *strings.Builder, _ int) error {
	b.WriteString("### Encoding blocks (part of P9), one core\n\nMB/s of values: 8 bytes a number, the bytes of strings.\n\n| column |")
	profiles := []encode.Profile{encode.Plain, encode.MinimalCompression, encode.Balanced, encode.HighCompression, encode.MinimalSize}
	for _, p := range profiles {
		fmt.Fprintf(b, " %s |", p)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(profiles)) + "\n")
	for _, c := range append(bench.Columns(bench.Values), bench.TextColumns(bench.Values/4)...) {
		log.Print("P9: ", c.Name)
		var list []bench.Contestant
		for _, p := range profiles {
			w, err := bench.Writer(c, p)
			if err != nil {
				return err
			}
			list = append(list, w)
		}
		results, err := bench.Measure(list, 1)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s |", c.Name)
		for _, r := range results {
			fmt.Fprintf(b, " %.0f |", 1e3*gbs(c, r))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return nil
}
