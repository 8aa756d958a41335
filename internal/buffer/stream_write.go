package buffer

import (
	"fmt"
	"math"

	"github.com/shardcat/shardcat/internal/block"
	"github.com/shardcat/shardcat/internal/encode"
)

// StreamWriter lays out the blocks of one block stream in memory, each with its checksum. The zero value is
// ready.
type StreamWriter struct {
	data []byte
	m    MapBuilder
}

// Add appends an encoded block.
func (w *StreamWriter) Add(b encode.Block) error {
	start := len(w.data)
	w.data = block.AppendFrame(w.data, b.Presence, b.Sub, true)
	return w.note(b.Values, len(w.data)-start)
}

// AddSuper appends a super-block of a packed group, see AppendSuper: that many positions of every member.
func (w *StreamWriter) AddSuper(positions int, sizes []int, blocks []byte) error {
	start := len(w.data)
	w.data = AppendSuper(w.data, sizes, blocks)
	return w.note(positions, len(w.data)-start)
}

// note adds a block to the map.
func (w *StreamWriter) note(values, size int) error {
	if values <= 0 || uint64(values) >= math.MaxUint32 || uint64(size) >= math.MaxUint32 {
		return fmt.Errorf("a block of %d values and %d bytes is outside the format's limits", values, size)
	}
	w.m.Add(uint32(values), uint32(size))
	return nil
}

// Len is the number of bytes laid out so far.
func (w *StreamWriter) Len() int { return len(w.data) }

// Encoded is a finished buffer.
type Encoded struct {
	// Bytes of the buffer: data, padding and block map.
	Bytes []byte
	// MapStart is where in Bytes the block map starts.
	MapStart int
	// Blocks is the number of blocks.
	Blocks int
}

// Finish pads the blocks and appends the block map. The writer is used up.
func (w *StreamWriter) Finish() Encoded {
	data := padFrom(w.data, 0, streamAlignment)
	return Encoded{Bytes: w.m.Append(data), MapStart: len(data), Blocks: w.m.Blocks()}
}
