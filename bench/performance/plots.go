package main

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of a plot, in pixels.
const (
	barHeight = 22
	barsFrom  = 230
	barsWide  = 330
	plotWide  = 660
)

// plot draws one task of a table as bars, the less the better, into a file beside the page, and gives the link to it.
func (v *view) plot(subject, task, figure, title, unit string, scale float64) string {
	var rows []Row
	longest := 0.0
	for _, who := range contestants {
		if row, ok := v.r.find("files", subject, task, who); ok && row.V[figure] > 0 {
			rows = append(rows, row)
			longest = max(longest, row.V[figure])
		}
	}
	var b strings.Builder
	height := 34 + barHeight*len(rows)
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", plotWide, height)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"8\" y=\"18\" font-weight=\"bold\">%s, %s; shorter is better</text>\n", html.EscapeString(title), html.EscapeString(unit))
	for i, row := range rows {
		y, colour := 30+barHeight*i, "#8a9bb0"
		if strings.HasPrefix(row.Who, "shardcat") {
			colour = "#d9652b"
		}
		wide := barsWide * row.V[figure] / longest
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/><text x=\"%.1f\" y=\"%d\">%.1f</text>\n",
			barsFrom-8, y+14, html.EscapeString(row.Who), barsFrom, y, wide, barHeight-5, colour, barsFrom+wide+6, y+14, row.V[figure]/scale)
	}
	b.WriteString("</svg>\n")
	name := "performance-" + strings.NewReplacer(" ", "-", "%", "percent").Replace(subject+"-"+task+"-"+figure) + ".svg"
	v.plots[name] = b.String()
	return fmt.Sprintf("![%s](%s)", title, name)
}
