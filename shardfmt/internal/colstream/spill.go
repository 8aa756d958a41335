package colstream

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/shardcat/shardcat/internal/bufpool"
)

// Spill is a temporary file in which finished blocks of streams wait until they are placed, so that memory holds only the end of each
// stream. Several streams share it. Safe for concurrent use.
type Spill struct {
	chunk int // bytes that a Tape gathers before they go to the file

	mu   sync.Mutex
	file *os.File // nil until the first chunk comes
	end  int64
}

// NewSpill makes a Spill whose tapes hold up to about chunk bytes each in memory.
func NewSpill(chunk int) *Spill { return &Spill{chunk: max(1, chunk)} }

// Bytes is how many bytes went to the file so far.
func (s *Spill) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// Close removes the file. The tapes are of no use then; a nil Spill has nothing to close.
func (s *Spill) Close() error {
	if s == nil || s.file == nil {
		return nil
	}
	err := errors.Join(s.file.Close(), os.Remove(s.file.Name()))
	s.file = nil
	return err
}

// write puts a chunk into the file, and reports where.
func (s *Spill) write(b []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "shardcat-spill-*"); err != nil {
			return 0, err
		}
	}
	at = s.end
	if _, err := s.file.WriteAt(b, at); err != nil {
		return 0, err
	}
	s.end += int64(len(b))
	return at, nil
}

// Tape is bytes that are written one behind the other, and then read in the same order: the first ones in a Spill, the last ones in
// memory. Not for concurrent use.
type Tape struct {
	spill *Spill // nil keeps all in memory
	parts []part
	size  int64 // of the parts
	tail  []byte
}

// part is some bytes of a tape: where they lie in the file, or the bytes themselves.
type part struct {
	at   int64
	size int
	held []byte
}

// heldPart is how long the tail of a tape without a file grows: then it becomes a part, so that what was written is not copied over and
// over as the tape grows. heldRoom is for the last block of a part.
const heldPart, heldRoom = 1 << 20, 128 << 10

// NewTape makes a tape in a Spill; in a nil one it stays in memory.
func NewTape(s *Spill) *Tape { return &Tape{spill: s} }

// Write appends bytes. It implements io.Writer.
func (t *Tape) Write(b []byte) (int, error) {
	t.tail = append(t.tail, b...)
	return len(b), t.settle()
}

// room reserves n bytes more: for twice as many as there are, up to a part, so that each is copied about once.
func (t *Tape) room(n int) {
	if cap(t.tail)-len(t.tail) < n {
		t.tail = slices.Grow(t.tail, max(n, min(len(t.tail), heldPart+heldRoom-len(t.tail))))
	}
}

// settle moves the tail to the file, or to the parts where there is none, if it is long.
func (t *Tape) settle() error {
	if t.spill == nil {
		if len(t.tail) >= heldPart {
			t.parts = append(t.parts, part{size: len(t.tail), held: t.tail})
			t.size += int64(len(t.tail))
			t.tail = bufpool.Bytes(heldPart + heldRoom)[:0]
		}
		return nil
	}
	if len(t.tail) < t.spill.chunk {
		return nil
	}
	at, err := t.spill.write(t.tail)
	if err != nil {
		return err
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].at+int64(t.parts[n-1].size) == at {
		t.parts[n-1].size += len(t.tail)
	} else {
		t.parts = append(t.parts, part{at: at, size: len(t.tail)})
	}
	t.size += int64(len(t.tail))
	t.tail = t.tail[:0]
	return nil
}

// Size is how many bytes were written, Held how many of them are in memory. A nil tape has none.
func (t *Tape) Size() int64 {
	if t == nil {
		return 0
	}
	return t.size + int64(len(t.tail))
}

// Held is how many bytes are in memory.
func (t *Tape) Held() int {
	if t.spill == nil {
		return int(t.size) + cap(t.tail)
	}
	return cap(t.tail)
}

// inMemory is how many of the bytes that were written are in memory.
func (t *Tape) inMemory() int {
	if t.spill == nil {
		return int(t.size) + len(t.tail)
	}
	return len(t.tail)
}

// Pieces calls do with the bytes of the tape, some at a time, from its start. What do is given is valid until it returns. A nil tape has
// none.
func (t *Tape) Pieces(do func(b []byte) error) error {
	if t == nil {
		return nil
	}
	var room []byte
	for _, p := range t.parts {
		if p.held != nil {
			if err := do(p.held); err != nil {
				return err
			}
			continue
		}
		if room == nil {
			room = make([]byte, pieceBytes)
		}
		for at := 0; at < p.size; at += len(room) {
			b := room[:min(len(room), p.size-at)]
			if _, err := t.spill.file.ReadAt(b, p.at+int64(at)); err != nil {
				return err
			}
			if err := do(b); err != nil {
				return err
			}
		}
	}
	if len(t.tail) == 0 {
		return nil
	}
	return do(t.tail)
}

// pieceBytes is how much of a file Pieces reads at once.
const pieceBytes = 256 << 10

// Reader reads the tape from its start. Nothing may be written any more.
func (t *Tape) Reader() io.Reader {
	readers := make([]io.Reader, 0, len(t.parts)+1)
	for _, p := range t.parts {
		if p.held != nil {
			readers = append(readers, bytes.NewReader(p.held))
			continue
		}
		readers = append(readers, io.NewSectionReader(t.spill.file, p.at, int64(p.size)))
	}
	return io.MultiReader(append(readers, bytes.NewReader(t.tail))...)
}
