package fileio

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// nullPartition is the value in the name of a folder that stands for null, as Hive has it.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// PartitionFolder is the name of the folder of a partition as Hive, Spark, DuckDB and Arrow write and read it: name=value, where letters,
// digits and _ - . ~ stand for themselves, and any other byte is %XX. No two values have the same name.
func PartitionFolder(name, value string, null bool) string {
	name = escapePartition(name)
	if strings.HasPrefix(name, ".") { // else it would be hidden
		name = "%2E" + name[1:]
	}
	switch {
	case null:
		return name + "=" + nullPartition
	case value == nullPartition: // as text
		return name + "=%5F" + value[1:]
	}
	return name + "=" + escapePartition(value)
}

func escapePartition(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-.~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// partition is a column that the name of a folder gives.
type partition struct {
	name, value string
	null        bool
}

// partitionsOf reads the names of the folders of a key.
func partitionsOf(key string) (parts []partition) {
	folders := strings.Split(key, "/")
	for _, folder := range folders[:len(folders)-1] {
		name, value, ok := strings.Cut(folder, "=")
		if !ok || name == "" || name[0] == '.' {
			continue
		}
		p := partition{name: unescapePartition(name), value: unescapePartition(value), null: value == nullPartition}
		if !slices.ContainsFunc(parts, func(q partition) bool { return q.name == p.name }) {
			parts = append(parts, p)
		}
	}
	return parts
}

func unescapePartition(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// partitionNames are the columns that folders of inputs give, in the order of the first that has each. Of files that are named one by
// one none are read, which is reported.
func partitionNames(inputs []input, warn func(string)) (names []string) {
	told := false
	for _, in := range inputs {
		for _, p := range in.parts {
			if !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
		if found := partitionsOf(unescape(in.url)); len(in.parts) == 0 && len(found) > 0 && !in.listed && !told {
			told = true
			warn(fmt.Sprintf("%s: %s=… in its path is not read as a column: pass the parent folder or a pattern to read partition folders as columns", in.name, found[0].name))
		}
	}
	return names
}

// partitioned adds the columns that folders give to the records of a source. A value that a file has itself stays.
type partitioned struct {
	Source
	origins *origins
	schema  *schema.Schema
	columns []partitionColumn
	// parts are the partitions of each input, by its name.
	parts map[string][]partition
	state *readState
	rows  int64
}

type partitionColumn struct {
	name string
	// at is its place in the schema, and inFiles whether the files' source has it, too.
	at      int
	inFiles bool
}

// openPartitioned opens inputs some of whose folders give columns.
func openPartitioned(ctx context.Context, sp *blobio.Client, inputs []input, names []string, o SourceOptions) (Source, error) {
	ofFiles := o
	isName := func(n *schema.Node) bool { return slices.Contains(names, n.Name) }
	ofFiles.Types = slices.DeleteFunc(slices.Clone(o.Types), isName)
	if o.Schema != nil {
		kept, err := knownPartitions(names, o)
		if err != nil {
			return nil, err
		}
		names = kept
		ofFiles.Schema = &schema.Schema{}
		for _, f := range o.Schema.Fields {
			if isName(f) {
				f = cloneNode(f)
				f.Nullable = true // where files lack it
			}
			ofFiles.Schema.Fields = append(ofFiles.Schema.Fields, f)
		}
		ofFiles.Schema.Number()
	}
	src, err := openFiles(ctx, sp, inputs, ofFiles)
	if err != nil || len(names) == 0 {
		return src, err
	}
	p := &partitioned{Source: src, parts: map[string][]partition{}, schema: &schema.Schema{Fields: slices.Clone(src.Schema().Fields)}}
	p.origins = originsOf(src)
	if p.state, err = newReadState(o); err != nil {
		return nil, err
	}
	for _, in := range inputs {
		p.parts[in.name] = in.parts
	}
	for _, name := range names {
		p.add(name, inputs, o)
	}
	p.schema.Number()
	return p, nil
}

// knownPartitions are the names that go into the records: those that the schema has, and with ExtendByUnknown all.
func knownPartitions(names []string, o SourceOptions) (known []string, err error) {
	for _, name := range names {
		has := slices.ContainsFunc(o.Schema.Fields, func(f *schema.Node) bool { return f.Name == name })
		switch {
		case has || o.UnknownFields == ExtendByUnknown:
			known = append(known, name)
		case o.UnknownFields != DropUnknown:
			return nil, fmt.Errorf("%w: partition folder %q (%s=…): the schema has no such field: --unknown-fields extend adds it, --unknown-fields drop omits it", ErrRecord, name, name)
		}
	}
	return known, nil
}

// originsOf is what a source of files remembers of its inputs.
func originsOf(s Source) *origins {
	switch s := s.(type) {
	case *csvSource:
		return &s.origins
	case *ndjsonSource:
		return &s.origins
	case *batchSource:
		return &s.origins
	}
	return &origins{}
}

// add adds a column, of the type that the files, the options or the schema give it, or that its values look like.
func (p *partitioned) add(name string, inputs []input, o SourceOptions) {
	at := slices.IndexFunc(p.schema.Fields, func(f *schema.Node) bool { return f.Name == name })
	c := partitionColumn{name: name, at: at, inFiles: at >= 0}
	if at < 0 {
		c.at = len(p.schema.Fields)
		p.schema.Fields = append(p.schema.Fields, partitionType(name, inputs, o))
	}
	if o.Schema != nil && c.inFiles {
		for _, f := range o.Schema.Fields {
			if f.Name == name {
				p.schema.Fields[at] = f
			}
		}
	}
	p.columns = append(p.columns, c)
}

// partitionType is the type of a column that folders give.
func partitionType(name string, inputs []input, o SourceOptions) *schema.Node {
	for _, n := range o.Types {
		if n.Name == name {
			return cloneNode(n)
		}
	}
	in := newInference(SourceOptions{Nulls: []string{}, DateFormats: o.DateFormats, TimeZone: o.TimeZone})
	g := &guess{path: name}
	for _, i := range inputs {
		for _, part := range i.parts {
			switch {
			case part.name != name || part.null:
			case part.value == "":
				return &schema.Node{Name: name, Nullable: true, Basic: schema.String}
			default:
				in.cell(g, []byte(part.value), true)
			}
		}
	}
	return g.node(name)
}

// Schema implements Source.
func (p *partitioned) Schema() *schema.Schema { return p.schema }

// RowName names a row as the source does.
func (p *partitioned) RowName(row int64) string { return p.origins.RowName(row) }

// inferred reports InferenceOf.
func (p *partitioned) inferred() *Inference {
	in := inferenceOf(p.Source)
	if in == nil {
		return nil
	}
	out := *in
	out.Fields = slices.Clone(in.Fields)
	for _, c := range p.columns {
		if !c.inFiles {
			out.Fields = append(out.Fields, InferredField{Name: c.name, Type: shortType(p.schema.Fields[c.at]), Example: p.example(c.name),
				Notes: []string{"from partition folders"}, folders: true})
		}
	}
	return &out
}

// example is the first value of a column, in the order of the names of files.
func (p *partitioned) example(name string) string {
	for _, input := range slices.Sorted(maps.Keys(p.parts)) {
		for _, part := range p.parts[input] {
			if part.name == name && !part.null {
				return part.value
			}
		}
	}
	return ""
}

// Next implements Source.
func (p *partitioned) Next(ctx context.Context) (arrow.RecordBatch, error) {
	b, err := p.Source.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	columns := slices.Clone(b.Columns())
	for _, c := range p.columns {
		made, err := p.column(c, int(b.NumRows()))
		if err != nil {
			return nil, err
		}
		defer made.Release()
		if c.inFiles {
			merged, err := filled(columns[c.at], made)
			if err != nil {
				return nil, err
			}
			defer merged.Release()
			columns[c.at] = merged
		} else {
			columns = append(columns, made)
		}
	}
	p.rows += b.NumRows()
	return array.NewRecordBatch(arrowtype.Schema(p.schema), columns, b.NumRows()), nil
}

// column makes the values of a column for the next rows.
func (p *partitioned) column(c partitionColumn, rows int) (arrow.Array, error) {
	n := p.schema.Fields[c.at]
	builder := newBatchBuilder(&schema.Schema{Fields: []*schema.Node{n}})
	defer builder.record.Release()
	col := newColumn(n, n.Name, builder.field(0), p.state)
	put := cellReader(col, &numberText{point: '.'})
	for row := range rows {
		input := p.origins.inputOf(p.rows + int64(row))
		i := slices.IndexFunc(p.parts[input], func(q partition) bool { return q.name == c.name })
		var err error
		switch {
		case i < 0 || p.parts[input][i].null:
			if c.inFiles {
				builder.field(0).AppendNull() // the file may have it
			} else {
				err = col.null()
			}
		default:
			err = put([]byte(p.parts[input][i].value))
		}
		if err != nil {
			return nil, located(err, input, 0)
		}
	}
	made := builder.batch(rows)
	defer made.Release()
	a := made.Column(0)
	a.Retain()
	return a, nil
}

// filled is an array with values of another in place of its nulls.
func filled(a, by arrow.Array) (arrow.Array, error) {
	switch a.NullN() {
	case 0:
		a.Retain()
		return a, nil
	case a.Len():
		by.Retain()
		return by, nil
	}
	var pieces []arrow.Array
	for from := 0; from < a.Len(); {
		to := from + 1
		for to < a.Len() && a.IsNull(to) == a.IsNull(from) {
			to++
		}
		whole := a
		if a.IsNull(from) {
			whole = by
		}
		piece := array.NewSlice(whole, int64(from), int64(to))
		defer piece.Release()
		pieces, from = append(pieces, piece), to
	}
	return array.Concatenate(pieces, memory.DefaultAllocator)
}
