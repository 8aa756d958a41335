package parquetchunk

import (
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcolumn"
)

// The pages of a nested column have an entry for each value and for each null or empty list or struct above it. A shard stores lists and structs
// apart from the values, so a column below them has a position for each entry that is an element of its innermost list, or a record where it is
// in none. The values themselves are stored only where the definition level is the highest.

// depth is where a value is among the levels of its column.
type depth struct {
	parquetcolumn.Depth
	// nested: the column is below a list, map or struct, so that nothing but its levels reports its positions.
	nested bool
}

// depthOf finds the levels of a column.
func depthOf(c *pqschema.Column) depth {
	d := depth{Depth: parquetcolumn.Depth{Def: uint32(c.MaxDefinitionLevel()), Rep: uint32(c.MaxRepetitionLevel())}, nested: c.MaxRepetitionLevel() > 0 || len(c.ColumnPath()) > 1}
	below := uint32(0) // optional nodes below the innermost repeated one
	for n := c.SchemaNode(); n != nil && n.Parent() != nil; n = n.Parent() {
		switch n.RepetitionType() {
		case parquet.Repetitions.Optional:
			below++
		case parquet.Repetitions.Repeated:
			d.Element = d.Def - below
			return d
		}
	}
	return d
}

// Levels are the levels of the entries of some pages.
type Levels struct{ Def, Rep []uint32 }

var errEntries = errors.New("not a data page of as many entries as are read at once")

// levelsOf reads the levels of a page into those of another, which are given up.
func (d depth) levelsOf(p *parquetcodec.Page, into Levels, mem *budget.Account) (Levels, error) {
	n := p.Values
	if n > maxPageRows || p.Kind == parquetcodec.DictionaryPage {
		return into, errEntries
	}
	parts, err := parquetcolumn.Split(p, d.Depth)
	if err != nil {
		return into, err
	}
	if n > cap(into.Def) {
		if err := mem.Take(8 * uint64(n)); err != nil {
			return into, err
		}
		into = Levels{make([]uint32, n), make([]uint32, n)}
	}
	into.Def, into.Rep = into.Def[:n], into.Rep[:n]
	return into, parts.Levels(into.Rep, into.Def)
}

// mapNested is Map for a nested column: its blocks are pages with the pages behind them that have no position. A chunk without any position
// has no block. take is given the levels of each page.
func (c *Chunk) mapNested(pages []byte, mem *budget.Account, take func(Levels) error) (*colstream.MapBuilder, error) {
	out, at, entries := new(colstream.MapBuilder), 0, uint64(0)
	values, size := uint64(0), uint64(0) // of the current block
	var levels Levels
	unpack := &parquetcodec.Unpacker{Take: mem.Take}
	err := c.eachPage(pages, c.Pages.Start, unpack, func(page *parquetcodec.Page, end int) (more bool, err error) {
		if levels, err = c.depth.levelsOf(page, levels, mem); err != nil {
			return false, err
		}
		n := uint64(0)
		for _, def := range levels.Def {
			if def >= c.depth.Element {
				n++
			}
		}
		if n > 0 && values > 0 {
			out.Add(uint32(values), uint32(size))
			values, size = 0, 0
		}
		values, size, entries = values+n, size+uint64(end-at), entries+uint64(len(levels.Def))
		at = end
		if size > math.MaxUint32 || entries > c.entries {
			return false, corrupt.At(int64(at), "column %q: %d entries of %d in %d bytes", c.column.Path(), entries, c.entries, size)
		}
		if take != nil {
			err = take(levels)
		}
		return entries < c.entries, err
	})
	if values > 0 {
		out.Add(uint32(values), uint32(size))
	}
	if err == nil && (entries != c.entries || at != len(pages)) {
		err = corrupt.At(int64(c.Pages.Start)+int64(at), "column %q: the pages hold %d of %d entries, %d bytes remain", c.column.Path(), entries, c.entries, len(pages)-at)
	}
	return out, err
}
