package fileio

import "encoding/binary"

// The stream goes from the reader to who started it through memory that both have: some slots of equal size, which are used one after the other, again
// and again, so that their pages are there and in the processor's caches. A piece of the stream is written to a slot, frame m reports how long it is; it
// is copied out of the slot, once, to memory that is its taker's alone, and frame f gives the slot back. A reader that was made to do harm may write
// to any slot at any time: what it changes is another piece of its stream, and the memory can't be made shorter.
//
// Where a system has no such memory the pieces go through the pipe, in frames d.

const (
	// slotBytes is the size of a slot, in bytes: about a batch of the usual size has space in it.
	slotBytes = 1 << 20
	// slotCount is how many slots there are: one that is read, one that is written, and some that wait, for batches aren't alike.
	slotCount = 4
	// fullSlot is how much of a slot is sent at the end of a batch, in bytes; less waits for the next one.
	fullSlot = slotBytes / 4
)

// slots are the shared memory.
type slots []byte

// at is the n-th slot that is used.
func (s slots) at(n int) []byte {
	n %= slotCount
	return s[n*slotBytes : (n+1)*slotBytes : (n+1)*slotBytes]
}

// slotWriter writes the stream to slots.
type slotWriter struct {
	c      *frames
	memory slots
	// used are the slots that were sent, filled is how much of the current one is written.
	used, filled int
}

// Write implements io.Writer.
func (w *slotWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if w.filled == 0 {
			if err := w.c.awaitSlot(); err != nil {
				return n, err
			}
		}
		k := copy(w.memory.at(w.used)[w.filled:], p[n:])
		n, w.filled = n+k, w.filled+k
		if w.filled == slotBytes {
			if err := w.Flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// endBatch implements readerOutput.
func (w *slotWriter) endBatch() error {
	if w.filled < fullSlot {
		return nil
	}
	return w.Flush()
}

// Flush implements readerOutput.
func (w *slotWriter) Flush() error {
	if w.filled == 0 {
		return nil
	}
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(w.filled))
	w.used, w.filled = w.used+1, 0
	return w.c.write(frameSlot, size[:])
}
