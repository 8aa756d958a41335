package column

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// maxOpaque bounds an opaque dictionary: zstd's own tools make them of about 100 KiB.
const maxOpaque = 16 << 20

// opaqueColumn is a column whose blocks may name opaque dictionaries, which are fetched with the first blocks.
type opaqueColumn struct {
	Column
	dictionaries []*opaque
	into         *block.Opaque
	ids          []uint32
	mem          *budget.Account
}

// withDictionaries adds the opaque dictionaries of the encoding to a column, if it has any.
func (f *stored) withDictionaries(c Column) (Column, error) {
	out := &opaqueColumn{Column: c, into: new(block.Opaque), mem: f.o.mem}
	for _, b := range f.encoding.GetBuffers() {
		if b.Kind != metapb.BufferKind_OPAQUE_DICTIONARY {
			continue
		}
		if b.BufferId == nil {
			return nil, f.corrupt("an opaque dictionary without the id that blocks refer to")
		}
		url, start, end, err := f.locate(b.Buffer)
		if err != nil {
			return nil, err
		}
		if end-start > maxOpaque {
			return nil, f.unsupported("an opaque dictionary of more than 16 MiB")
		}
		out.dictionaries = append(out.dictionaries, &opaque{url: url, start: uint64(start), end: uint64(end)})
		out.ids = append(out.ids, *b.BufferId)
	}
	if len(out.dictionaries) == 0 {
		return c, nil
	}
	f.scratch.Opaque = out.into
	return out, nil
}

func (c *opaqueColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	out, err := c.Column.Need(ranges, whole)
	if err != nil {
		return nil, err
	}
	for i, d := range c.dictionaries {
		out = append(out, d.need(func(b []byte) error {
			content, err := meta.Unframe(b)
			if err != nil {
				return err
			}
			return corrupt.Locate(c.into.Add(c.ids[i], content), "", 4)
		})...)
	}
	return out, nil
}

func (c *opaqueColumn) Size() uint64 {
	n := c.Column.Size()
	for _, d := range c.dictionaries {
		n += d.end - d.start
	}
	return n
}
