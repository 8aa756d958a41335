package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/bench"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// kernels measures the inner loops.
func kernels(r *run) error {
	list := bench.Kernels()
	contestants := make([]bench.Contestant, len(list))
	for i, k := range list {
		contestants[i] = k.Contestant()
	}
	results, err := bench.Measure(contestants, 1)
	if err != nil {
		return err
	}
	for i, k := range list {
		seconds := results[i].Seconds / bench.KernelRounds
		r.add(Row{Part: "kernels", Subject: k.Name, Note: simd.Tier(),
			V: map[string]float64{"seconds": seconds, "values": float64(k.Values), "bytes": float64(k.Bytes)}})
	}
	return nil
}

// memcpy measures checksummed columns against memcpy (P1), with one worker and with all.
func memcpy(r *run) error {
	for _, c := range bench.Columns(bench.Values) {
		log.Print("P1: ", c.Name)
		reused, err1 := bench.ReadShardcat(c, encode.Balanced, false)
		fresh, err2 := bench.ReadShardcat(c, encode.Balanced, true)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		list := []bench.Contestant{reused, bench.Memcpy(c, false), fresh, bench.Memcpy(c, true)}
		one, err := bench.Measure(list, 1)
		if err != nil {
			return err
		}
		all, err := bench.Measure(list[:2], r.cpus)
		if err != nil {
			return err
		}
		r.add(Row{Part: "memcpy", Subject: c.Name, Note: reused.Note, V: map[string]float64{
			"bytes/s":  float64(c.Bytes()) / one[0].Seconds,
			"reused":   one[1].Seconds / one[0].Seconds,
			"fresh":    one[3].Seconds / one[2].Seconds,
			"together": all[1].Seconds / all[0].Seconds,
			"workers":  float64(r.cpus),
		}})
	}
	return nil
}

// scanTasks names the ways of bench.Scans.
var scanTasks = []string{"bare", "read", "fresh", "scan", "reused"}

// scans measures scans by the public interface against the loop over the same blocks (P12).
func scans(r *run) error {
	dir, err := os.MkdirTemp("", "shardcat-scans")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, err := bench.FileColumns(dir, bench.Values)
	if err != nil {
		return err
	}
	for _, f := range list {
		log.Print("Scan: ", f.Name)
		results, err := bench.MeasureProcess(bench.Scans(f))
		if err != nil {
			return err
		}
		v := map[string]float64{"rows": float64(f.Rows)}
		for i, task := range scanTasks {
			v[task] = results[i].Seconds
		}
		r.add(Row{Part: "scans", Subject: f.Name, Note: f.Kind, V: v})
	}
	return nil
}

// columns measures every way to read a column out of a file (P3).
func columns(r *run) error {
	for i, c := range append(bench.Columns(bench.Values), bench.TextColumns(bench.Values/4)...) {
		log.Print("P3: ", c.Name)
		dir, err := os.MkdirTemp("", fmt.Sprint("shardcat-column", i))
		if err != nil {
			return err
		}
		list, err := everyone(c, dir)
		if err == nil {
			err = r.column(c, list)
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
	}
	return nil
}

// column measures the ways to read one column.
func (r *run) column(c *bench.Column, list []bench.Contestant) error {
	results, err := bench.MeasureProcess(list)
	if err != nil {
		return err
	}
	for _, w := range results {
		r.add(Row{Part: "columns", Subject: c.Name, Who: w.Name,
			V: map[string]float64{"seconds": w.Seconds, "stored": float64(w.Size), "bytes": float64(c.Bytes())}})
	}
	return nil
}

// everyone is our profiles, then the peers, in files below dir.
func everyone(c *bench.Column, dir string) (list []bench.Contestant, err error) {
	for _, p := range []shardfmt.Profile{shardfmt.Balanced, shardfmt.HighCompression} {
		f, err := bench.OpenColumn(filepath.Join(dir, p.String()), c, p)
		if err != nil {
			return nil, err
		}
		s, err := f.Reused()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	pg, err := bench.ParquetGo(c, dir)
	if err != nil {
		return nil, err
	}
	ag, err := bench.ArrowGo(c, dir)
	return append(append(list, pg...), ag...), err
}

// profiles that are compared in writing.
var profiles = []encode.Profile{encode.Plain, encode.MinimalCompression, encode.Balanced, encode.HighCompression, encode.MinimalSize}

// encoding measures the encoders, which are a part of writing (P9).
func encoding(r *run) error {
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
		known, err := bench.Rewriter(c, encode.Balanced)
		if err != nil {
			return err
		}
		results, err := bench.Measure(append(list, known), 1)
		if err != nil {
			return err
		}
		for i, p := range profiles {
			row := Row{Part: "encoding", Subject: c.Name, Who: p.String(), V: map[string]float64{"bytes/s": float64(c.Bytes()) / results[i].Seconds}}
			if p == encode.Balanced {
				row.V["choosing"] = results[i].Seconds/results[len(profiles)].Seconds - 1
			}
			r.add(row)
		}
	}
	return nil
}
