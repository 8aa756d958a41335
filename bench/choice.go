package bench

import (
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// chosenBlock is a block of a column and the tree of encodings that it was given.
type chosenBlock struct {
	start, end int // values of the column
	tree       string
}

// chosenBlocks adds up what an encoder chooses, block by block.
func chosenBlocks(e *encode.Encoder, list *[]chosenBlock) func(encode.Block) error {
	return func(b encode.Block) error {
		start := 0
		if n := len(*list); n > 0 {
			start = (*list)[n-1].end
		}
		*list = append(*list, chosenBlock{start, start + b.Values, e.Chosen()})
		return nil
	}
}

// Rewriter encodes a column into the blocks and by the trees that Writer chooses, which are known before: what Writer takes
// longer is the cost of choosing.
func Rewriter(c *Column, p encode.Profile) (Contestant, error) {
	switch {
	case c.Ints != nil:
		return rewriter(c.Ints, p)
	case c.Floats != nil:
		return rewriter(c.Floats, p)
	}
	return textRewriter(c.Strings, p)
}

func rewriter[T block.Number](vals []T, p encode.Profile) (Contestant, error) {
	var blocks []chosenBlock
	e := encode.NewEncoder(encode.Options{Profile: p})
	for done := 0; done < len(vals); {
		rest := vals[done:]
		n, err := encode.CutNumbers(e, rest[:min(len(rest), encode.FlushValues)], nil, len(rest) <= encode.FlushValues, chosenBlocks(e, &blocks))
		if err != nil {
			return Contestant{}, err
		}
		done += n
	}
	return rewriteContestant(p, blocks, func(dst []byte, b chosenBlock) ([]byte, error) {
		return encode.NumbersAs(dst, vals[b.start:b.end], nil, b.tree)
	})
}

func textRewriter(vals []string, p encode.Profile) (Contestant, error) {
	var blocks []chosenBlock
	e := encode.NewEncoder(encode.Options{Profile: p})
	data, offsets := flat(vals)
	for done := 0; done < len(vals); {
		rest := offsets[done:]
		n, err := e.CutBytes(encode.Bytes{Data: data, Offsets: rest[:min(len(vals)-done, encode.FlushValues)+1]}, len(vals)-done <= encode.FlushValues, chosenBlocks(e, &blocks))
		if err != nil {
			return Contestant{}, err
		}
		done += n
	}
	return rewriteContestant(p, blocks, func(dst []byte, b chosenBlock) ([]byte, error) {
		return encode.BytesAs(dst, encode.Bytes{Data: data, Offsets: offsets[b.start : b.end+1]}, b.tree)
	})
}

// rewriteContestant makes blocks with their frames, as Writer does.
func rewriteContestant(p encode.Profile, blocks []chosenBlock, sub func([]byte, chosenBlock) ([]byte, error)) (Contestant, error) {
	var memory []byte
	write := func() (int, error) {
		s := &stored{} // Writer keeps its blocks, too
		for _, b := range blocks {
			var err error
			if memory, err = sub(memory[:0], b); err != nil {
				return 0, err
			}
			frame := block.AppendFrame(nil, nil, memory, true)
			s.blocks = append(s.blocks, storedBlock{frame, b.end - b.start})
			s.size += len(frame)
		}
		return s.size, nil
	}
	size, err := write()
	return Contestant{Name: "shardcat " + p.String() + ", chosen before", Size: size, Open: func() (func() error, error) {
		return func() error { _, err := write(); return err }, nil
	}}, err
}
