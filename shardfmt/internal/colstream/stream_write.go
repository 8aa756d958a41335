package colstream

import (
	"fmt"
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// StreamWriter lays out the blocks of one block stream, each with its checksum: in memory, or in a Spill. The zero value is ready, and
// holds all in memory.
type StreamWriter struct {
	data Tape
	m    MapBuilder
}

// NewStreamWriter makes a StreamWriter whose finished blocks go to a Spill, if it is not nil.
func NewStreamWriter(s *Spill) StreamWriter { return StreamWriter{data: Tape{spill: s}} }

// frameRoom is more than a frame and its padding take besides what is in it.
const frameRoom = 32

// Add appends an encoded block.
func (w *StreamWriter) Add(b encode.Block) error {
	w.data.room(len(b.Presence) + len(b.Sub) + frameRoom)
	start := len(w.data.tail)
	w.data.tail = block.AppendFrame(w.data.tail, b.Presence, b.Sub, true)
	return w.note(b.Values, len(w.data.tail)-start)
}

// AddSuper appends a super-block of a packed group, see AppendSuper: that many positions of every member.
func (w *StreamWriter) AddSuper(positions int, sizes []int, blocks []byte) error {
	start := len(w.data.tail)
	w.data.tail = AppendSuper(w.data.tail, sizes, blocks)
	return w.note(positions, len(w.data.tail)-start)
}

// note adds a block to the map.
func (w *StreamWriter) note(values, size int) error {
	if values <= 0 || uint64(values) >= math.MaxUint32 || uint64(size) >= math.MaxUint32 {
		return fmt.Errorf("a block of %d values and %d bytes is outside the format's limits", values, size)
	}
	w.m.Add(uint32(values), uint32(size))
	return w.data.settle()
}

// Len is the number of bytes that are held in memory.
func (w *StreamWriter) Len() int { return w.data.inMemory() + w.m.held() }

// Encoded is a finished buffer.
type Encoded struct {
	// Head are the first bytes of the buffer, in a file or in memory; nil where there are none but Bytes.
	Head *Tape
	// Bytes of the buffer behind them: data, padding and block map.
	Bytes []byte
	// MapStart is where in the buffer the block map starts.
	MapStart int
	// Blocks is the number of blocks.
	Blocks int
}

// Finish pads the blocks and appends the block map. The writer is used up.
func (w *StreamWriter) Finish() Encoded {
	tail, head := w.data.tail, &Tape{spill: w.data.spill, parts: w.data.parts, size: w.data.size}
	out := Encoded{Blocks: w.m.Blocks()}
	if head.size > 0 {
		out.Head = head
	}
	padded := alignUp(int(head.size)+len(tail), streamAlignment) - int(head.size)
	tail = append(tail, make([]byte, padded-len(tail))...)
	out.MapStart = int(head.size) + padded
	out.Bytes = w.m.Append(tail)
	return out
}
