package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// maxArrowMetadata is the longest metadata of an Arrow IPC message, in bytes: it is read whole before it is known to be
// sound.
const maxArrowMetadata = 64 << 20

// DefaultMaxMemory is the most bytes of one Arrow IPC message, which is read and unpacked whole.
const DefaultMaxMemory = 1 << 30

var arrowMagic = []byte("ARROW1")

// arrowStream reads Arrow IPC: a stream of messages, | marker | length | metadata | body |, the first of which is the
// schema. A file is its magic, padded to 8 bytes, such a stream with an end, and a footer that says where the messages
// are; who reads all of them needs no footer.
type arrowStream struct {
	r        *ipc.Reader
	messages *arrowMessages
	body     io.Closer
}

// openArrow opens an Arrow IPC file or stream, told by the magic that only files have.
func openArrow(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (batchFile, error) {
	r, err := in.open(ctx, sp)
	if err != nil {
		return nil, err
	}
	f, err := newArrowStream(r, o.MaxMemory)
	if err != nil {
		r.Close()
		return nil, err
	}
	return f, nil
}

func newArrowStream(body io.ReadCloser, maxMemory int64) (*arrowStream, error) {
	b := bufio.NewReaderSize(body, 256<<10)
	head, _ := b.Peek(len(arrowMagic))
	m := &arrowMessages{r: b, most: maxMemory, file: bytes.Equal(head, arrowMagic)}
	if m.file {
		head := arrowFileHead
		for more, _ := b.Peek(mostArrowFileHead); head < len(more) && more[head] == 0; {
			head++
		}
		if _, err := b.Discard(head); err != nil {
			return nil, damaged(err)
		}
	}
	r, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.memory()))
	if err != nil {
		return nil, m.cause(err)
	}
	return &arrowStream{r, m, body}, nil
}

// arrowFileHead is the length of a file's magic with what pads it; some writers pad it to mostArrowFileHead. A message begins with a byte that is
// not zero.
const arrowFileHead, mostArrowFileHead = 8, 64

func (s *arrowStream) schema() *arrow.Schema { return s.r.Schema() }

func (s *arrowStream) next(context.Context) (b arrow.RecordBatch, err error) {
	defer guard(&err, "Arrow stream")
	if s.r.Next() {
		return s.r.RecordBatch(), sound(s.r.RecordBatch(), s.messages.unpacked)
	}
	if err := s.r.Err(); err != nil && err != io.EOF {
		return nil, s.messages.cause(err)
	}
	return nil, io.EOF
}

func (s *arrowStream) close() error {
	s.r.Release()
	return s.body.Close()
}

// damaged is an error of a library that reads a file's bytes.
func damaged(err error) error {
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: "the file can't be read", Err: err}
}

// sound reports whether a batch of unknown origin may be read without harm. A batch may hold many more rows than
// bytes, if all are null for instance, but not without end.
func sound(batch arrow.RecordBatch, bytes int64) error {
	const free = 1 << 24
	if batch.NumRows() > free && batch.NumRows()/8 > bytes {
		return damaged(fmt.Errorf("a batch of %d rows in %d bytes: more than a bit for each is wanted", batch.NumRows(), bytes))
	}
	if err := arrowtype.Validate(batch); err != nil {
		return damaged(err)
	}
	return nil
}

// arrowMessages reads the messages of a stream, and checks what Arrow's reader would believe.
type arrowMessages struct {
	r *bufio.Reader
	// most bytes of memory that a message may take, packed or unpacked.
	most int64
	// file: an end is written, so that nothing can be missing.
	file  bool
	begun bool
	last  *ipc.Message
	// err is why the messages ended, source the error of what they are read from; unpacked counts the bytes of memory
	// made for the last one.
	err, source error
	unpacked    int64
}

// Retain and Release implement ipc.MessageReader; the messages belong to one reader.
func (m *arrowMessages) Retain() {}

// Release implements ipc.MessageReader.
func (m *arrowMessages) Release() {}

// cause is the error that a reader met: its own, or that of the messages, which it only wraps in text.
func (m *arrowMessages) cause(err error) error {
	if m.source != nil {
		return m.source
	}
	if m.err != nil && m.err != io.EOF {
		err = m.err
	}
	if errors.Is(err, corrupt.ErrCorrupt) {
		return err
	}
	return damaged(err)
}

// Message implements ipc.MessageReader: the next message, valid until the next call, or io.EOF.
func (m *arrowMessages) Message() (*ipc.Message, error) {
	if m.err == nil {
		m.last, m.err = m.next()
	}
	var failed *sourceError
	if errors.As(m.err, &failed) {
		m.source = failed.err
	}
	return m.last, m.err
}

func (m *arrowMessages) next() (*ipc.Message, error) {
	size, err := m.length()
	if err != nil {
		return nil, err
	}
	metadata, err := readWhole(m.r, size)
	if err != nil {
		return nil, err
	}
	var body int64
	if m.begun {
		body, err = arrowtype.CheckBatchMessage(metadata)
	} else {
		err = arrowtype.CheckSchemaMessage(metadata)
	}
	if err != nil {
		return nil, err
	}
	m.begun, m.unpacked = true, 0
	if body > m.most {
		return nil, m.tooLarge(body)
	}
	data, err := readWhole(m.r, body)
	if err != nil {
		return nil, err
	}
	if err := arrowtype.CheckWindows(metadata, data, maxWindow); err != nil {
		return nil, err
	}
	m.unpacked = body
	return ipc.NewMessage(memory.NewBufferBytes(metadata), memory.NewBufferBytes(data)), nil
}

// length reads what stands before the metadata: a marker, which streams before Arrow 0.15 don't have, and the length,
// which is 0 at the end.
func (m *arrowMessages) length() (int64, error) {
	var word [4]byte
	if n, err := io.ReadFull(m.r, word[:]); err == io.EOF && n == 0 && !m.file {
		return 0, io.EOF
	} else if err != nil {
		return 0, cutShort(err)
	}
	size := binary.LittleEndian.Uint32(word[:])
	if size == 0xFFFFFFFF {
		if _, err := io.ReadFull(m.r, word[:]); err != nil {
			return 0, cutShort(err)
		}
		size = binary.LittleEndian.Uint32(word[:])
	}
	switch {
	case size == 0 && !m.begun:
		return 0, arrowtype.ErrSchema
	case size == 0:
		return 0, io.EOF
	case size < 4 || size > maxArrowMetadata:
		return 0, arrowtype.ErrBatch
	}
	return int64(size), nil
}

// readWhole reads so many bytes, and makes room for them as they come: a length may be anything.
func readWhole(r io.Reader, size int64) ([]byte, error) {
	const step = 16 << 20
	buf := make([]byte, 0, min(size, step))
	for int64(len(buf)) < size {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(size, int64(2*cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return nil, cutShort(err)
		}
	}
	return buf, nil
}

// sourceError is an error of what messages are read from, which says nothing of the messages.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// cutShort is the error of a read that gave less than a message needs.
func cutShort(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return io.ErrUnexpectedEOF
	}
	return &sourceError{err}
}

func (m *arrowMessages) tooLarge(size int64) error {
	return fmt.Errorf("a batch of %d bytes: at most %d are read at once; a larger limit (--max-memory) allows more, or write smaller batches", size, m.most)
}

// memory gives an allocator for what is unpacked from messages: as much as a message may be. Its panic is caught by the
// reader, and its reason kept.
func (m *arrowMessages) memory() memory.Allocator { return arrowMemory{memory.NewGoAllocator(), m} }

type arrowMemory struct {
	memory.Allocator
	messages *arrowMessages
}

// Allocate implements memory.Allocator.
func (a arrowMemory) Allocate(size int) []byte {
	a.claim(size)
	return a.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (a arrowMemory) Reallocate(size int, b []byte) []byte {
	a.claim(size - len(b))
	return a.Allocator.Reallocate(size, b)
}

func (a arrowMemory) claim(size int) {
	m := a.messages
	if size < 0 {
		return
	}
	if m.unpacked += int64(size); m.unpacked > m.most || m.unpacked < 0 {
		m.err = m.tooLarge(m.unpacked)
		panic(m.err)
	}
}
