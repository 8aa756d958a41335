package formattest

import (
	"encoding/binary"
	"strings"
)

// The tables of docs/format/schema.fbs, by slot. The kind is a width in bytes, or what an offset leads to.
type slot struct {
	name string
	kind string // "1", "4", "8": a scalar; string; strings; u32s; bytes; table; tables
	of   string
}

var tables = map[string][]slot{
	"Schema": {{"fields", "tables", "Field"}, {"number of nodes", "4", ""}, {"lookup", "table", "HashLookup"}},
	"Field":  {{"type", "table", "DataType"}, {"internal annotation", "table", "InternalFieldAnnotation"}},
	"DataType": {{"basic type", "1", ""}, {"number", "4", ""}, {"parent", "4", ""}, {"name", "string", ""}, {"aliases", "strings", ""},
		{"children", "tables", "DataType"}, {"signed", "1", ""}, {"fixed size", "8", ""}, {"extended type", "table", "ExtendedTypeAnnotation"},
		{"lookup", "table", "HashLookup"}},
	"HashLookup": {{"buckets", "u32s", ""}, {"entries", "u32s", ""}},
}

// schema notes a FlatBuffers buffer in [at, end).
func (a *annotator) schema(at int) {
	a.add(at, 4, "  offset of the root table: %d", a.u32(at))
	a.table(at+a.u32(at), "Schema", 1)
}

func (a *annotator) u32(at int) int { return int(binary.LittleEndian.Uint32(a.b[at:])) }
func (a *annotator) u16(at int) int { return int(binary.LittleEndian.Uint16(a.b[at:])) }

// table notes a table, its vtable and what its fields lead to.
func (a *annotator) table(at int, name string, depth int) {
	if a.err != nil {
		return
	}
	indent := strings.Repeat("  ", depth)
	vtable := at - int(int32(a.u32(at)))
	size := a.u16(vtable)
	a.add(vtable, size, "%svtable of a %s: its bytes, the table's bytes, an offset for each field", indent, name)
	a.add(at, 4, "%s%s: back to its vtable", indent, name)
	for i, s := range tables[name] {
		if 4+2*i >= size || a.u16(vtable+4+2*i) == 0 {
			continue
		}
		a.slot(at+a.u16(vtable+4+2*i), s, indent, depth)
	}
}

// slot notes a field of a table.
func (a *annotator) slot(at int, s slot, indent string, depth int) {
	switch s.kind {
	case "1":
		a.add(at, 1, "%s  %s = %d", indent, s.name, a.b[at])
		return
	case "4":
		a.add(at, 4, "%s  %s = %d", indent, s.name, a.u32(at))
		return
	case "8":
		a.add(at, 8, "%s  %s = %d", indent, s.name, binary.LittleEndian.Uint64(a.b[at:]))
		return
	}
	to := at + a.u32(at)
	a.add(at, 4, "%s  %s: forward to %06x", indent, s.name, to)
	switch s.kind {
	case "string":
		a.text(to, s.name, indent)
	case "table":
		a.table(to, s.of, depth+1)
	case "tables", "strings":
		n := a.u32(to)
		a.add(to, 4, "%s  %s: %d of them", indent, s.name, n)
		for p := to + 4; p < to+4+4*n; p += 4 {
			a.add(p, 4, "%s    forward to %06x", indent, p+a.u32(p))
			if s.kind == "tables" {
				a.table(p+a.u32(p), s.of, depth+1)
			} else {
				a.text(p+a.u32(p), s.name, indent)
			}
		}
	case "u32s":
		a.add(to, 4+4*a.u32(to), "%s  %s: their number and as many u32", indent, s.name)
	}
}

// text notes a string: its length, its bytes, a zero.
func (a *annotator) text(at int, name, indent string) {
	n := a.u32(at)
	a.add(at, 4+n+1, "%s  %s: length %d, %q, a zero", indent, name, n, a.b[at+4:at+4+n])
}
