package fileformat

import (
	"fmt"
	"io"

	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Inspection describes a file for people and tools.
type Inspection struct {
	URL    string `json:"url"`
	Format string `json:"format"`
	// Version of the format as the file states it, or empty.
	Version string `json:"version,omitempty"`
	// Records of the file; in formats with nested rows, of its outermost records.
	Records uint64 `json:"records"`
	// Schema as a shard would have it.
	Schema []*schema.Node `json:"schema"`
	// SizeBytes of all objects of the file.
	SizeBytes int64 `json:"size_bytes"`
	// Parts are what the format is made of, as deep as was requested.
	Parts []Part `json:"parts,omitempty"`
	// Warnings are no damage, but unusual.
	Warnings []string `json:"warnings,omitempty"`
}

// Part is one part of a file: a row group, a page, a block.
type Part struct {
	Name string `json:"name"`
	// Facts in the order in which people read them.
	Facts []Fact `json:"facts,omitempty"`
	Parts []Part `json:"parts,omitempty"`
}

// Fact is one property of a part.
type Fact struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Print writes an inspection for people.
func (x *Inspection) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n  %s", x.URL, x.Format)
	if x.Version != "" {
		fmt.Fprintf(w, " %s", x.Version)
	}
	fmt.Fprintf(w, ", %s, %d bytes\n  schema: %s\n", plural.Count(x.Records, "record"), x.SizeBytes, (&schema.Schema{Fields: x.Schema}).String())
	printParts(w, x.Parts, "  ")
	for _, warning := range x.Warnings {
		fmt.Fprintf(w, "  note: %s\n", warning)
	}
}

func printParts(w io.Writer, parts []Part, indent string) {
	for _, p := range parts {
		fmt.Fprintf(w, "%s%s", indent, p.Name)
		for i, f := range p.Facts {
			separator := ", "
			if i == 0 {
				separator = ": "
			}
			fmt.Fprintf(w, "%s%s %v", separator, f.Name, f.Value)
		}
		fmt.Fprintln(w)
		printParts(w, p.Parts, indent+"  ")
	}
}
