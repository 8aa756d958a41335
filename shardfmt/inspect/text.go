package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Print writes the inspection for a person to read.
func (x *Inspection) Print(w io.Writer) {
	fmt.Fprintf(w, "shard       %s\n", x.URL)
	fmt.Fprintf(w, "records     %d", x.Records)
	if x.DeletedRecords > 0 {
		fmt.Fprintf(w, ", %d of them deleted", x.DeletedRecords)
	}
	fmt.Fprintf(w, "\nsize        %s, %s of it the root\n", progress.Bytes(x.SizeBytes), progress.Bytes(x.RootBytes))
	fmt.Fprintf(w, "created     %s\n", created(x.CreationMin, x.CreationMax))
	fmt.Fprintf(w, "stripes     %d\n", len(x.Stripes))
	for i, s := range x.Stripes {
		fmt.Fprintf(w, "  %-4d      %s from %d\n", i, plural.Count(s.Records, "record"), s.Position)
	}
	for _, u := range x.URLs {
		fmt.Fprintf(w, "object      %s\n", u)
	}
	checksums := 0
	for _, p := range x.Properties {
		if p.Name == meta.PropertyObjects && p.Error == "" {
			checksums++ // for verify, and of no use to a person
			continue
		}
		fmt.Fprintf(w, "property    %s %s %s = %s", p.Scope, p.Bag, p.Name, shorten(string(p.Value)))
		switch {
		case p.Error != "":
			fmt.Fprintf(w, " (not followed: %s)", p.Error)
		case p.Ref != nil:
			fmt.Fprintf(w, " (from %s)", p.Ref)
		}
		fmt.Fprintln(w)
	}
	if checksums > 0 {
		fmt.Fprintf(w, "checksums   of the data of %d of %s (%s)\n", checksums, plural.Count(len(x.Stripes), "stripe"), meta.PropertyObjects)
	}
	for _, i := range x.Indexes {
		i.Print(w)
	}
	if x.Fields == nil {
		fmt.Fprintln(w, "schema")
		for _, n := range x.Schema {
			printNode(w, n, n.Name, 1)
		}
		return
	}
	for _, name := range x.order {
		x.Fields[name].print(w, name)
	}
}

func created(lo, hi *string) string {
	switch {
	case lo == nil || hi == nil:
		return "unknown"
	case *lo == *hi:
		return *lo
	}
	return *lo + " … " + *hi
}

// maxText is how much of a long value is shown.
const maxText = 160

func shorten(s string) string {
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText]) + "…"
	}
	return s
}

func notNull(n *schema.Node) string {
	if n.Nullable {
		return ""
	}
	return " not null"
}

func printNode(w io.Writer, n *schema.Node, name string, depth int) {
	fmt.Fprintf(w, "%s%-4d%s: %s%s\n", strings.Repeat("  ", depth), n.ID, name, n.TypeName(), notNull(n))
	for i, c := range n.Children {
		printNode(w, c, n.ChildName(i), depth+1)
	}
}

func (f *Field) print(w io.Writer, name string) {
	fmt.Fprintf(w, "field       %d %s: %s\n", f.SchemaID, name, f.Type)
	if f.Shard != nil {
		fmt.Fprintf(w, "  shard     %s\n", f.Shard)
	}
	for i, s := range f.Stripes {
		if s == nil {
			fmt.Fprintf(w, "  stripe %-3d all null\n", i)
			continue
		}
		fmt.Fprintf(w, "  stripe %-3d%s\n", i, s.Statistics)
		for _, e := range s.Encodings {
			for _, b := range e.Buffers {
				b.print(w)
			}
		}
	}
}

func (b *Buffer) print(w io.Writer) {
	if b.Member != nil {
		fmt.Fprintf(w, "    %-16s member %d of the packed group\n", b.Kind, *b.Member)
		return
	}
	fmt.Fprintf(w, "    %-16s %s at %d", b.Kind, progress.Bytes(b.Size), b.Start)
	if b.URL != "" {
		fmt.Fprintf(w, " of %s", b.URL)
	}
	if b.ID != 0 {
		fmt.Fprintf(w, ", id %d", b.ID)
	}
	switch {
	case b.Packed && b.Blocks != nil:
		fmt.Fprintf(w, ", packed group of %s", plural.Count(*b.Blocks, "super-block"))
	case b.Blocks != nil:
		fmt.Fprintf(w, ", %s", plural.Count(*b.Blocks, "block"))
	}
	fmt.Fprintln(w)
	plans := make([]string, 0, len(b.Plans))
	for plan := range b.Plans {
		plans = append(plans, plan)
	}
	slices.SortFunc(plans, func(x, y string) int { return b.Plans[y] - b.Plans[x] })
	for _, plan := range plans {
		fmt.Fprintf(w, "      %6d × %s\n", b.Plans[plan], plan)
	}
	for _, t := range b.Trees {
		fmt.Fprintf(w, "      %d + %s, %d bytes, %s: %s\n", t.Position, plural.Count(t.Values, "value"), t.Bytes, t.Presence, t.Plan)
	}
}
