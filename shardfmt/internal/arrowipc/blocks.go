package arrowipc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// FooterGuess is how much of the end of a file is read for its footer at first, in bytes.
const FooterGuess = 64 << 10

// maxFooter is the longest footer, in bytes: as metadata, it is read whole before it is known to be sound.
const maxFooter = maxMetadata

// fileTail is what follows a footer: its length, the magic.
const fileTail = 4 + len(Magic)

// skipped is how far a block may lie ahead to be reached by reading on, in bytes; beyond it, and behind, the file is reopened.
const skipped = 1 << 20

var (
	errNoEnd    = errors.New("the end of an Arrow file is missing: it was cut off, or its writer was not closed")
	errBlock    = errors.New("the footer of the Arrow file lists blocks that do not lie in it")
	errReplaced = errors.New("a dictionary is replaced, which files of Arrow cannot: write a stream")
)

// File is the object that an Arrow file is read from, by its footer.
type File struct {
	Size int64
	// Read fills b with the bytes from off on.
	Read func(b []byte, off int64) error
	// Open starts reading at an offset; what it gave before is not used any more.
	Open func(off int64) (*bufio.Reader, error)
}

// blockReader walks the blocks of a file.
type blockReader struct {
	file File
	// end is where the footer starts; at is the offset that the reader is at.
	end, at int64
	// rest are the blocks to read, of which the dictionaries come first; now is the one that is read.
	rest []arrowtype.Block
	now  arrowtype.Block
}

// OpenFile reads the messages that the footer of a file lists, dictionaries first, in its order, wherever they lie.
func OpenFile(f File, l Limits) (*Messages, error) {
	footer, end, err := readFooter(f)
	if err != nil {
		return nil, err
	}
	blocks := append(append([]arrowtype.Block{}, footer.Dictionaries...), footer.Batches...)
	total := int64(0)
	for _, b := range blocks {
		if b.Offset < fileHead || b.Metadata < 4 || b.Body < 0 || b.Offset > end || b.Metadata > end-b.Offset || b.Body > end-b.Offset-b.Metadata {
			return nil, errBlock
		}
		if total += b.Metadata + b.Body; total > end { // a block that is listed many times makes rows without end
			return nil, errBlock
		}
	}
	return &Messages{limits: l, file: true, footer: footer, blocks: &blockReader{file: f, end: end, rest: blocks}}, nil
}

// readFooter reads a footer, and where it starts, by one read if it is no longer than most.
func readFooter(f File) (*arrowtype.Footer, int64, error) {
	tail := make([]byte, min(f.Size, FooterGuess))
	if len(tail) < fileHead+fileTail {
		return nil, 0, errNoEnd
	}
	if err := f.Read(tail, f.Size-int64(len(tail))); err != nil {
		return nil, 0, err
	}
	n := len(tail) - fileTail
	size := int64(binary.LittleEndian.Uint32(tail[n:]))
	if string(tail[n+4:]) != Magic {
		return nil, 0, errNoEnd
	}
	end := f.Size - int64(fileTail) - size
	if end < fileHead || size > maxFooter {
		return nil, 0, arrowtype.ErrFooter
	}
	b := tail[:n]
	if size > int64(n) {
		b = make([]byte, size)
		if err := f.Read(b, end); err != nil {
			return nil, 0, err
		}
	}
	footer, err := arrowtype.ParseFooter(b[int64(len(b))-size:])
	return footer, end, err
}

// nextBlock goes to the next block; io.EOF behind the last one.
func (m *Messages) nextBlock() error {
	b := m.blocks
	if len(b.rest) == 0 {
		return io.EOF
	}
	b.now, b.rest = b.rest[0], b.rest[1:]
	ahead := b.now.Offset - b.at
	if m.r == nil || ahead < 0 || ahead > skipped {
		r, err := b.file.Open(b.now.Offset)
		if err != nil {
			return &sourceError{err}
		}
		m.r, b.at = r, b.now.Offset
		return nil
	}
	b.at = b.now.Offset
	return m.discard(ahead)
}

// discard skips bytes that pad.
func (m *Messages) discard(n int64) error {
	if _, err := m.r.Discard(int(n)); err != nil {
		return cutShort(err)
	}
	return nil
}

// endMetadata goes to where the body of a block starts, behind so many bytes of metadata and the length in front of them, which is of
// 4 bytes or, behind a marker, of 8.
func (m *Messages) endMetadata(size int64) error {
	front := int64(4)
	if m.marked {
		front = 8
	}
	if size+front > m.blocks.now.Metadata {
		return errBlock
	}
	return m.discard(m.blocks.now.Metadata - size - front)
}

// checkBlock compares the body of a message with what the footer lists, and counts it as read.
func (m *Messages) checkBlock(body int64) error {
	if m.footer == nil || m.blocks.now.Metadata == 0 { // the schema
		return nil
	}
	if body > m.blocks.now.Body {
		return errBlock
	}
	m.blocks.at = m.blocks.now.Offset + m.blocks.now.Metadata + body
	return nil
}
