package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// goal is a line of the table of goals. Its figure is computed from the results, or recorded with the date and what made it.
type goal struct {
	ID, Goal string
	// Figure, Met and Ratio are recorded where nothing computes them; On and By report when and by what.
	Figure, Ratio string
	Met           bool
	On, By        string
	// Why is reported where the goal is missed.
	Why string
}

//go:embed goals.json
var recordedGoals []byte

// judged is what results state about a goal.
type judged struct {
	figure, ratio string
	met           bool
}

// judges compute the goals that are not recorded, by their ID.
var judges = map[string]func(*view) judged{
	"P1": judgeMemcpy, "P3 parquet-go": judgePeer("parquet-go", 4), "P3 arrow-go": judgePeer("arrow-go", 10), "P3 size": judgeSizes,
	"P9 numbers": judgeNumbers, "P9 text": judgeText, "P9 table": judgeWrite, "P11": judgeLanding, "P12 loop": judgeLoop, "P12 DuckDB": judgeScan, "P13": judgeStart,
}

// goals is the table against the goals.
func (v *view) goals() (string, error) {
	var list []goal
	if err := json.Unmarshal(recordedGoals, &list); err != nil {
		return "", err
	}
	t := newTable("", "goal", "figure", ">of the goal", "", "measured", "where missed: why")
	for _, g := range list {
		judge, computed := judges[g.ID]
		if computed == (g.On != "") {
			return "", fmt.Errorf("goal %s is either computed or recorded with a date", g.ID)
		}
		j, when := judged{g.Figure, g.Ratio, g.Met}, g.On+", "+g.By
		if computed {
			j, when = judge(v), "with this page"
		}
		verdict, why := "met", ""
		if !j.met {
			verdict, why = "**missed**", g.Why
			if why == "" {
				return "", fmt.Errorf("goal %s is missed (%s), and nothing says why", g.ID, j.figure)
			}
		}
		id, _, _ := strings.Cut(g.ID, " ")
		t.add(id, g.Goal, j.figure, j.ratio, verdict, when, why)
	}
	return t.String(), nil
}

// figureOf is the computed figure of a goal.
func (v *view) figureOf(id string) (string, error) {
	judge, ok := judges[id]
	if !ok {
		return "", fmt.Errorf("no computed goal %q", id)
	}
	return judge(v).figure, nil
}

// least asks a figure to be at least a bound.
func least(x, bound float64, figure string) judged {
	return judged{figure, fmt.Sprintf("%.2f ×", x/bound), x >= bound}
}

// most asks a figure to be at most a bound.
func most(x, bound float64, figure string) judged {
	return judged{figure, fmt.Sprintf("%.2f ×", x/bound), x <= bound}
}

// memcpyGoals are those of P1, by the tier of kernels.
var memcpyGoals = map[string]float64{"generic": 0.7, "avx2": 0.9, "avx512": 1.2}

func judgeMemcpy(v *view) judged {
	low, high, tier := math.Inf(1), 0.0, "generic"
	for _, row := range v.r.of("memcpy") {
		low, high = min(low, row.V["fresh"]), max(high, row.V["fresh"])
	}
	if rows := v.r.of("kernels"); len(rows) > 0 {
		tier = strings.ToLower(rows[0].Note)
	}
	bound := memcpyGoals["generic"]
	for name, b := range memcpyGoals {
		if name == tier {
			bound = b
		}
	}
	return least(low, bound, fmt.Sprintf("%.2f to %.2f of memcpy with kernels of the tier %s, which requires %.1f", low, high, tier, bound))
}

// speeds are how many times as fast as a peer's file with the least of a figure (seconds, stored) ours are scanned, by columns of
// numbers, in rising order.
func (v *view) speeds(peer, figure string) (out []float64) {
	rows := v.r.of("columns")
	for _, row := range rows {
		if fast := best(rows, row.Subject, peer, figure); row.Who == contestants[0] && !isText(row) && fast != nil {
			out = append(out, fast.V["seconds"]/row.V["seconds"])
		}
	}
	slices.Sort(out)
	return out
}

func judgePeer(peer string, bound float64) func(*view) judged {
	return func(v *view) judged {
		s, small := v.speeds(peer, "seconds"), v.speeds(peer, "stored")
		if len(s) == 0 {
			return judged{figure: "not measured"}
		}
		return least(s[0], bound, fmt.Sprintf("%.1f to %.1f × its fastest file of each column, median %.1f; %.1f to %.1f × its smallest, median %.1f",
			s[0], s[len(s)-1], s[len(s)/2], small[0], small[len(small)-1], small[len(small)/2]))
	}
}

func judgeSizes(v *view) judged {
	n, larger, worst, name := 0, 0, 0.0, ""
	for _, row := range v.r.of("sizes") {
		if row.Task == "given" {
			continue
		}
		n++
		x := row.V["high-compression"] / row.V["parquet"]
		if x > 1 {
			larger++
		}
		if x > worst && row.V["parquet"] > 100_000 {
			worst, name = x, row.Subject+"."+row.Task
		}
	}
	return most(worst, 1, fmt.Sprintf("%d of %d columns larger in high-compression than Parquet's best encoding of each; the worst of those above 100 kB: `%s`, %.2f ×", larger, n, name, worst))
}

// encoder is the lowest and highest speed of a profile, in MB/s.
func (v *view) encoder(profile string, text bool) (low, high float64) {
	low = math.Inf(1)
	for _, row := range v.r.of("encoding") {
		if row.Who == profile && isText(row) == text {
			low, high = min(low, row.V["bytes/s"]/1e6), max(high, row.V["bytes/s"]/1e6)
		}
	}
	return low, high
}

func judgeNumbers(v *view) judged {
	low, high := v.encoder("balanced", false)
	return least(low, 200, fmt.Sprintf("%.0f to %.0f MB/s in balanced, blocks alone", low, high))
}

func judgeText(v *view) judged {
	row, _ := v.r.find("encoding", "request lines", "", "high-compression")
	x := row.V["bytes/s"] / 1e6
	return least(x, 120, fmt.Sprintf("%.0f MB/s of request lines in high-compression, blocks alone", x))
}

func judgeWrite(v *view) judged {
	g, _ := v.r.find("files", "lineitem", "given", "")
	w, _ := v.r.find("files", "lineitem", "write", contestants[0])
	x := g.V["bytes"] / w.V["seconds"] / 1e6
	return least(x, 200, fmt.Sprintf("%.0f MB/s of lineitem in Arrow, statistics and indexes of ranges included", x))
}

func judgeLoop(v *view) judged {
	bare, read, best, kept := 0.0, 0.0, math.Inf(1), 0.0
	for _, row := range v.r.of("scans") {
		bare, kept = max(bare, row.V["reused"]/row.V["bare"]), max(kept, row.V["scan"]/row.V["fresh"])
		x := row.V["reused"] / row.V["read"]
		best, read = min(best, x), max(read, x)
	}
	return most(bare, 1.15, fmt.Sprintf("where each batch is released %.1f to %.2f × the loop that also reads the file, up to %.2f × the one that has it in memory; where none is, up to %.2f × the loop that takes memory",
		best, read, bare, kept))
}

func judgeScan(v *view) judged {
	ours, _ := v.r.find("files", "lineitem", "scan", contestants[0])
	duck, _ := v.r.find("files", "lineitem", "scan", "DuckDB on Parquet, zstd")
	x := ours.V["seconds"] / duck.V["seconds"]
	return most(x, 1, fmt.Sprintf("%.2f × DuckDB's time for lineitem", x))
}

func judgeStart(v *view) judged {
	row, _ := v.r.find("files", "command", "start", "")
	return most(row.V["seconds"], 0.03, fmt.Sprintf("%.0f ms (`--version`)", 1e3*row.V["seconds"]))
}
