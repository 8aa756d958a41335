package bench

import (
	"fmt"
	"sort"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// stored is a column as blocks with checksums.
type stored struct {
	blocks []storedBlock
	size   int
	chosen map[string]int // trees of encodings and how many blocks have them
}

type storedBlock struct {
	frame  []byte
	values int
}

// note is the trees of encodings, the most frequent first.
func (s *stored) note() string {
	names := make([]string, 0, len(s.chosen))
	for name := range s.chosen {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return s.chosen[names[i]] > s.chosen[names[j]] })
	if len(names) > 2 {
		names = append(names[:2], fmt.Sprintf("and %d more", len(names)-2))
	}
	return strings.Join(names, ", ")
}

// add appends the frame of a block.
func (s *stored) add(e *encode.Encoder) func(encode.Block) error {
	return func(b encode.Block) error {
		frame := block.AppendFrame(nil, b.Presence, b.Sub, true)
		s.blocks = append(s.blocks, storedBlock{frame, b.Values})
		s.size += len(frame)
		s.chosen[e.Chosen()]++
		return nil
	}
}

// storeNumbers writes a column of numbers as a shard's buffer would hold it.
func storeNumbers[T block.Number](vals []T, p encode.Profile) (*stored, error) {
	s, e := &stored{chosen: map[string]int{}}, encode.NewEncoder(encode.Options{Profile: p})
	for len(vals) > 0 {
		n, err := encode.CutNumbers(e, vals[:min(len(vals), encode.FlushValues)], nil, len(vals) <= encode.FlushValues, s.add(e))
		if err != nil {
			return nil, err
		}
		vals = vals[n:]
	}
	return s, nil
}

// readNumbers decodes all blocks into dst: checksums, presence, values.
func readNumbers[T block.Number](dst []T, s *stored, scratch *block.Scratch) error {
	for _, b := range s.blocks {
		f, err := block.ParseFrame(b.frame, true)
		if err != nil {
			return err
		}
		if err := block.DecodeNumbers(dst[:b.values], f.Values, scratch); err != nil {
			return err
		}
		dst = dst[b.values:]
	}
	return nil
}

// ReadShardcat reads a column of numbers of our blocks into one slice, a fresh one each time or the same.
func ReadShardcat(c *Column, p encode.Profile, fresh bool) (Contestant, error) {
	if c.Floats != nil {
		return readContestant(c.Floats, p, fresh)
	}
	return readContestant(c.Ints, p, fresh)
}

func readContestant[T block.Number](vals []T, p encode.Profile, fresh bool) (Contestant, error) {
	s, err := storeNumbers(vals, p)
	if err != nil {
		return Contestant{}, err
	}
	return Contestant{Name: "shardcat " + p.String(), Note: s.note(), Size: s.size, Open: func() (func() error, error) {
		dst, scratch := make([]T, len(vals)), new(block.Scratch)
		read := func() error {
			if fresh {
				dst = make([]T, len(vals))
			}
			return readNumbers(dst, s, scratch)
		}
		if err := read(); err != nil {
			return nil, err
		}
		return read, verify("shardcat", dst, vals)
	}}, nil
}

// ScanShardcat reads a column of our blocks, block after block into the same memory.
func ScanShardcat(c *Column, p encode.Profile) (Contestant, error) {
	name := "shardcat " + p.String()
	switch {
	case c.Ints != nil:
		return scanContestant(name, c.Ints, p)
	case c.Floats != nil:
		return scanContestant(name, c.Floats, p)
	}
	return textContestant(name, c.Strings, p)
}

func scanContestant[T block.Number](name string, vals []T, p encode.Profile) (Contestant, error) {
	s, err := storeNumbers(vals, p)
	if err != nil {
		return Contestant{}, err
	}
	return Contestant{Name: name, Note: s.note(), Size: s.size, Open: func() (func() error, error) {
		largest := 0
		for _, b := range s.blocks {
			largest = max(largest, b.values)
		}
		dst, scratch := make([]T, largest), new(block.Scratch)
		return scan(name, vals, func(see func([]T)) error {
			for _, b := range s.blocks {
				f, err := block.ParseFrame(b.frame, true)
				if err != nil {
					return err
				}
				if err := block.DecodeNumbers(dst[:b.values], f.Values, scratch); err != nil {
					return err
				}
				see(dst[:b.values])
			}
			return nil
		})
	}}, nil
}

// flat is strings as bytes and offsets.
func flat(vals []string) (data []byte, offsets []int64) {
	offsets = append(offsets, 0)
	for _, v := range vals {
		data = append(data, v...)
		offsets = append(offsets, int64(len(data)))
	}
	return data, offsets
}

// storeText writes a column of strings, as flat has them, as a shard's buffer without a value dictionary would hold it.
func storeText(data []byte, offsets []int64, p encode.Profile) (*stored, error) {
	s, e := &stored{chosen: map[string]int{}}, encode.NewEncoder(encode.Options{Profile: p})
	for n := len(offsets) - 1; n > 0; n = len(offsets) - 1 {
		cut, err := e.CutBytes(encode.Bytes{Data: data, Offsets: offsets[:min(n, encode.FlushValues)+1]}, n <= encode.FlushValues, s.add(e))
		if err != nil {
			return nil, err
		}
		offsets = offsets[cut:]
	}
	return s, nil
}

func textContestant(name string, vals []string, p encode.Profile) (Contestant, error) {
	data, offsets := flat(vals)
	s, err := storeText(data, offsets, p)
	if err != nil {
		return Contestant{}, err
	}
	return Contestant{Name: name, Note: s.note(), Size: s.size, Open: func() (func() error, error) {
		dst, scratch := new(block.Bytes), new(block.Scratch)
		read := func() error {
			dst.Reset()
			for _, b := range s.blocks {
				f, err := block.ParseFrame(b.frame, true)
				if err != nil {
					return err
				}
				if err := block.DecodeBytes(dst, f.Values, b.values, 0, nil, scratch); err != nil {
					return err
				}
			}
			return nil
		}
		if err := read(); err != nil {
			return nil, err
		}
		got := make([]string, dst.Len())
		for i := range got {
			got[i] = string(dst.Data[dst.Offsets[i]:dst.Offsets[i+1]])
		}
		return read, verify(name, got, vals)
	}}, nil
}

// Writer encodes a column into blocks with checksums.
func Writer(c *Column, p encode.Profile) (Contestant, error) {
	return Contestant{Name: "shardcat " + p.String(), Open: func() (func() error, error) {
		switch {
		case c.Ints != nil:
			return func() error { _, err := storeNumbers(c.Ints, p); return err }, nil
		case c.Floats != nil:
			return func() error { _, err := storeNumbers(c.Floats, p); return err }, nil
		}
		data, offsets := flat(c.Strings)
		return func() error { _, err := storeText(data, offsets, p); return err }, nil
	}}, nil
}
