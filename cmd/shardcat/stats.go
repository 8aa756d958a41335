package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
)

func (a *app) statsCommand() *cobra.Command {
	var at atFlags
	cmd := &cobra.Command{
		Use:   "stats T",
		Short: "Show rows, nulls, bounds, distinct values and bytes per column",
		Long: "Show rows, nulls, minimum, maximum, the number of distinct values (≈: estimated by a sketch) and the stored bytes of every column. " +
			"The roots of the shards are read; columns only if statistics are missing or include deleted records. A bound marked ~ is truncated: " +
			"it still bounds all values.",
		Example: `  shardcat stats flights
  shardcat stats flights --json`,
		Args: exactly(1),
	}
	at.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		when, err := at.at()
		if err != nil {
			return err
		}
		t, err := a.readTable(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		s, err := t.Statistics(cmd.Context(), when)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(s)
		}
		a.printStatistics(s)
		return nil
	}
	return cmd
}

// Widths of the parts of the table that stats prints.
const (
	statsBar   = 20
	statsValue = 24
)

func (a *app) printStatistics(s *catalog.Statistics) {
	a.printf("%s in %s, %s\n\n", plural.Count(s.Rows, "row"), plural.Count(s.Shards, "shard"), progress.Bytes(s.Bytes))
	rows := [][]string{{"column", "type", "nulls", "distinct", "min", "max", "bytes", ""}}
	largest := int64(1)
	for _, c := range s.Columns {
		largest = max(largest, c.Bytes)
	}
	for _, c := range s.Columns {
		distinct, mark := "", ""
		if c.Distinct != nil {
			distinct = fmt.Sprintf("≈%d", *c.Distinct)
			if c.DistinctExact {
				distinct = distinct[len("≈"):]
			}
		}
		if c.Inexact {
			mark = "~"
		}
		rows = append(rows, []string{c.Name, cutText(c.Type), fmt.Sprint(c.Nulls), distinct, mark + bound(c.Min), mark + bound(c.Max),
			progress.Bytes(c.Bytes), strings.Repeat("█", int(c.Bytes*statsBar/largest))})
	}
	a.printColumns(rows, "llrrllrl")
}

// bound is a bound as people read it; text loses its quotes.
func bound(v []byte) string {
	text := string(v)
	if text == "null" {
		return ""
	}
	return cutText(strings.Trim(text, `"`))
}

func cutText(s string) string {
	if r := []rune(s); len(r) > statsValue {
		return string(r[:statsValue-1]) + "…"
	}
	return s
}

// printColumns prints rows of cells below one another; sides states l or r for each column.
func (a *app) printColumns(rows [][]string, sides string) {
	widths := make([]int, len(sides))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			fill := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if sides[i] == 'r' {
				cell, fill = fill, cell
			}
			line.WriteString(cell + fill + "  ")
		}
		a.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}
