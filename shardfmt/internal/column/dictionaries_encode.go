package column

import (
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// dictionaries are the value dictionaries that a field was given so far, with their codes: no block has codes of two, and
// each names its own by the id of the dictionary's buffer, 1 for the first.
type dictionaries struct {
	codes   colstream.StreamWriter
	buffers []Buffer
	held    int // bytes of buffers
}

// add takes what a builder holds.
func (s *dictionaries) add(d *dictionaryBuilder, typ schema.Basic, enc *encode.Encoder) error {
	if len(d.codes) == 0 {
		return nil
	}
	id := uint32(len(s.buffers) + 1)
	dict := d.build(typ).Append(nil)
	m := &metapb.EncodedBuffer{Kind: metapb.BufferKind_VALUE_DICTIONARY, BufferId: &id}
	s.buffers = append(s.buffers, Buffer{Meta: m, Bytes: dict})
	s.held += len(dict)
	_, err := encode.CutNumbers(enc, d.codes, nil, true, func(b encode.Block) error {
		b.Sub = append(block.AppendNamed(nil, id), b.Sub...)
		return s.codes.Add(b)
	})
	d.release()
	return err
}

// finish adds the codes and the dictionaries to the buffers. The descriptor gives no number of entries: a value may be in
// several dictionaries.
func (s *dictionaries) finish(out *Encoded) {
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_DATA}, s.codes.Finish())
	out.Buffers = append(out.Buffers, s.buffers...)
}

func (s *dictionaries) size() int { return s.codes.Len() + s.held }
