package main

import (
	"errors"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// exports are the formats that tables are written in again, by table.
var exports = []struct{ table, format string }{
	{"lineitem", "CSV"}, {"lineitem", "NDJSON"}, {"lineitem", "Parquet"}, {"log", "CSV"}, {"log", "NDJSON"}, {"log", "Parquet"},
}

// export measures the command on a table that was landed from Parquet: all rows to a file of another format, with one processor,
// against DuckDB's COPY of the file that it has of the same rows.
func export(r *run, p *peers, g *given, program string) error {
	lake, own := filepath.Join(g.place, "lake"), filepath.Join(g.place, "own.parquet")
	if err := onLake(program, lake, "ingest", "t", g.Path, "--create").Run(); err != nil {
		return err
	}
	var f figures
	if err := p.ask(request{"do": "copy", "source": g.Path, "target": own, "form": "parquet"}, &f); err != nil {
		return err
	}
	for _, e := range exports {
		if e.table != g.name {
			continue
		}
		if err := exportTo(r, p, g, program, e.format, own); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(lake), os.Remove(lake+".db"), os.Remove(own))
}

// exportTo measures one format.
func exportTo(r *run, p *peers, g *given, program, format, own string) error {
	form := strings.ToLower(format)
	lake, out := filepath.Join(g.place, "lake"), filepath.Join(g.place, "out."+form)
	best := map[string]figures{}
	for i := range fileTurns {
		log.Print("files: export to ", format, ", turn ", i+1)
		ours, peer := figures{}, figures{}
		var err error
		if ours.Seconds, err = processSeconds(onLake(program, lake, "export", "t", out, "--format", form)); err != nil {
			return err
		}
		info, err := os.Stat(out)
		if err != nil {
			return err
		}
		ours.Stored = float64(info.Size())
		if err := p.ask(request{"do": "copy", "source": own, "target": out, "form": form}, &peer); err != nil {
			return err
		}
		if err := os.Remove(out); err != nil {
			return err
		}
		for who, f := range map[string]figures{contestants[0]: ours, lander: peer} {
			if b, had := best[who]; !had || f.Seconds < b.Seconds {
				best[who] = f
			}
		}
	}
	for _, who := range []string{contestants[0], lander} {
		r.add(Row{Part: "files", Subject: g.name, Task: "export " + format, Who: who, V: map[string]float64{"seconds": best[who].Seconds, "stored": best[who].Stored}})
	}
	return nil
}

// exports is the table of what rows took to become other files. It is empty where that was not measured.
func (v *view) exports() string {
	t, measured := newTable("data", "to", ">ours, s", ">DuckDB's `COPY`, s", ">ratio", ">ours, MB", ">DuckDB's, MB"), false
	for _, e := range exports {
		ours, peer, ok := v.landed(e.table, "export "+e.format)
		if !ok {
			continue
		}
		measured = true
		t.add(e.table, e.format, figure(ours, "seconds", 1, 2), figure(peer, "seconds", 1, 2), two(ours.V["seconds"]/peer.V["seconds"]),
			figure(ours, "stored", 1e6, 2), figure(peer, "stored", 1e6, 2))
	}
	if !measured {
		return ""
	}
	return t.String()
}
