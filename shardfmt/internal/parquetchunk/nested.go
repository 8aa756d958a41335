package parquetchunk

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcolumn"
)

// The pages of a nested column have an entry for each value and for each null or empty list or struct above it. A shard stores lists and structs
// apart from the values, so a column below them has a position for each entry that is an element of its innermost list, or a record where it is
// in none. The values themselves are stored only where the definition level is the highest: a nested page becomes one of a flat optional column by
// other levels in front of the same bytes.

// depth is where a value is among the levels of its column.
type depth struct {
	// def and rep are the highest levels: the value is there.
	def, rep int16
	// element is the definition level from which an entry is a position: that of the innermost repeated node, 0 without one.
	element int16
	// nested: the column is below a list, map or struct, and pages have to be flattened.
	nested bool
}

// depthOf finds the levels of a column.
func depthOf(c *pqschema.Column) depth {
	d := depth{def: c.MaxDefinitionLevel(), rep: c.MaxRepetitionLevel(), nested: c.MaxRepetitionLevel() > 0 || len(c.ColumnPath()) > 1}
	below := int16(0) // optional nodes below the innermost repeated one
	for n := c.SchemaNode(); n != nil && n.Parent() != nil; n = n.Parent() {
		switch n.RepetitionType() {
		case parquet.Repetitions.Optional:
			below++
		case parquet.Repetitions.Repeated:
			d.element = d.def - below
			return d
		}
	}
	return d
}

// nullable reports whether a position may be null.
func (d depth) nullable() bool { return d.def > d.element }

// Levels are the levels of the entries of some pages.
type Levels struct{ Def, Rep []uint32 }

// leveled is a data page taken apart.
type leveled struct {
	Levels
	values   []byte
	encoding int32
}

var (
	errLevels    = errors.New("levels that do not fit into the page")
	errBitPacked = corrupt.Unsupported(0, "levels in the encoding BIT_PACKED, which is no longer written")
)

// take reads the levels of a page into those of another, which are given up.
func (d depth) take(p file.Page, into Levels, mem *budget.Account) (out leveled, err error) {
	n := int(p.NumValues())
	if n < 0 || n > maxPageRows {
		return out, errLevels
	}
	if n > cap(into.Def) {
		if err := mem.Take(8 * uint64(n)); err != nil {
			return out, err
		}
		into = Levels{make([]uint32, n), make([]uint32, n)}
	}
	var def, rep []byte
	out.values, out.encoding = p.Data(), int32(p.Encoding())
	switch p := p.(type) {
	case *file.DataPageV1:
		if d.rep > 0 && p.RepetitionLevelEncoding() != parquet.Encodings.RLE || d.def > 0 && p.DefinitionLevelEncoding() != parquet.Encodings.RLE {
			return out, errBitPacked
		}
		if rep, out.values, err = prefixed(out.values, d.rep); err == nil {
			def, out.values, err = prefixed(out.values, d.def)
		}
		if err != nil {
			return out, err
		}
	case *file.DataPageV2:
		r, f := int(p.RepetitionLevelByteLen()), int(p.DefinitionLevelByteLen())
		if r < 0 || f < 0 || r > len(out.values) || f > len(out.values)-r {
			return out, errLevels
		}
		rep, def, out.values = out.values[:r], out.values[r:r+f], out.values[r+f:]
	default:
		return out, errors.New("a page that is not a data page")
	}
	out.Def, out.Rep = into.Def[:n], into.Rep[:n]
	if err := parquetcolumn.Levels(out.Def, def, uint32(d.def)); err != nil {
		return out, err
	}
	return out, parquetcolumn.Levels(out.Rep, rep, uint32(d.rep))
}

// prefixed takes levels behind their length off a page; there are none where the highest is 0.
func prefixed(data []byte, most int16) (levels, rest []byte, err error) {
	if most == 0 {
		return nil, data, nil
	}
	if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
		return nil, nil, errLevels
	}
	end := 4 + int(binary.LittleEndian.Uint32(data))
	return data[4:end], data[end:], nil
}

// eachLevels calls do with the data pages of a nested column and where each ends in data.
func (c *Chunk) eachLevels(data []byte, mem *budget.Account, do func(p leveled, end int) error) error {
	var last Levels
	return c.eachPage(data, mem, func(page file.Page, end int) (more bool, err error) {
		p, err := c.depth.take(page, last, mem)
		if err != nil {
			return false, err
		}
		last = p.Levels
		return true, do(p, end)
	})
}

// mapNested is Map for a nested column: its blocks are pages with the pages behind them that have no position. A chunk without any position
// has no block. take is given the levels of each page.
func (c *Chunk) mapNested(pages []byte, mem *budget.Account, take func(Levels) error) (*colstream.MapBuilder, error) {
	out, at, entries := new(colstream.MapBuilder), 0, uint64(0)
	values, size := uint64(0), uint64(0) // of the current block
	err := c.eachLevels(pages, mem, func(p leveled, end int) error {
		n := uint64(0)
		for _, def := range p.Def {
			if def >= uint32(c.depth.element) {
				n++
			}
		}
		if n > 0 && values > 0 {
			out.Add(uint32(values), uint32(size))
			values, size = 0, 0
		}
		values, size, entries = values+n, size+uint64(end-at), entries+uint64(len(p.Def))
		at = end
		if size > math.MaxUint32 || entries > c.entries {
			return corrupt.At(int64(at), "column %q: %d entries of %d in %d bytes", c.column.Path(), entries, c.entries, size)
		}
		if take == nil {
			return nil
		}
		return take(p.Levels)
	})
	if values > 0 {
		out.Add(uint32(values), uint32(size))
	}
	if err == nil && (entries != c.entries || at != len(pages)) {
		err = corrupt.At(int64(c.Pages.Start)+int64(at), "column %q: the pages hold %d of %d entries, %d bytes remain", c.column.Path(), entries, c.entries, len(pages)-at)
	}
	return out, err
}

// plain makes the values of a page plain where the library does not decode them.
func (c *Chunk) plain(p *leveled, mem *budget.Account) (err error) {
	if p.encoding == int32(parquet.Encodings.DeltaByteArray) && c.column.PhysicalType() == parquet.Types.FixedLenByteArray {
		p.values, err = parquetcodec.PlainOfDelta(p.values, len(p.Def), c.column.TypeLength(), mem.Take)
		p.encoding = int32(parquet.Encodings.Plain)
	}
	return err
}

// flatten gives the pages of a nested column, or of one of which values are to be made plain, as those of an optional one, uncompressed, of version 2.
func (c *Chunk) flatten(pages []byte, mem *budget.Account) (out []byte, err error) {
	err = c.eachLevels(pages, mem, func(p leveled, _ int) error {
		if err := c.plain(&p, mem); err != nil {
			return err
		}
		n, nulls, set := 0, 0, make([]byte, 0, len(p.Def)/8+1)
		for _, def := range p.Def {
			if def < uint32(c.depth.element) {
				continue
			}
			if n%8 == 0 {
				set = append(set, 0)
			}
			if def == uint32(c.depth.def) {
				set[n/8] |= 1 << (n % 8)
			} else {
				nulls++
			}
			n++
		}
		if n == 0 {
			return nil
		}
		levels := append(binary.AppendUvarint(nil, uint64(len(set))<<1|1), set...) // one group of bits
		if !c.depth.nested && c.depth.def == 0 {
			levels = nil
		}
		if err := mem.Take(uint64(len(levels) + len(p.values))); err != nil {
			return err
		}
		out = parquetcodec.PageHeader{Type: file.PageTypeDataPageV2, Size: len(levels) + len(p.values),
			Numbers: []int{n, nulls, n, int(p.encoding), len(levels), 0}}.Append(out)
		out = append(append(out, levels...), p.values...)
		return nil
	})
	return out, err
}
