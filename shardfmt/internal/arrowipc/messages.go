// Package arrowipc reads the messages of Arrow IPC whose bytes nobody vouches for. Arrow's reader makes space for what a message claims to
// have, and memory that runs out is caught by nothing: so claims are checked against what is there, before it sees them.
//
// A stream is messages, | marker | length | metadata | body |, the first of which is the schema. A file is its magic, padded to 8 bytes,
// such a stream, and a footer with the schema that reports where the messages are. A file is read by its footer (OpenFile): its messages may be
// in any order, and the stream may lack its schema and its end. Open reads a file as the stream that it should hold.
package arrowipc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// maxMetadata is the longest metadata of a message, in bytes: it is read whole before it is known to be sound.
const maxMetadata = 64 << 20

// minMetadata is what metadata may have whatever the limits are.
const minMetadata = 4 << 20

// Magic is what files begin and end with.
const Magic = "ARROW1"

// fileHead is the length of a file's magic with what pads it; some writers pad it to mostFileHead. A message begins with a byte that is
// not zero.
const fileHead, mostFileHead = 8, 64

// Limits bound what messages take.
type Limits struct {
	// Message is the most bytes of memory of one message, packed and unpacked, and of all dictionaries that are in force. Unpacked, if not 0,
	// is the most that all of them unpack to.
	Message, Unpacked int64
	// Window is the most bytes of a window of zstd.
	Window uint64
	// TooLarge makes the error of what is larger than Message or Unpacked.
	TooLarge func(size, most int64) error
}

// Messages reads the messages of a stream or a file. It is an ipc.MessageReader, and belongs to one reader.
type Messages struct {
	r      *bufio.Reader
	limits Limits
	// file: an end is written, so that nothing can be missing.
	file bool
	// marked: a marker stood before the length of the last message.
	marked bool
	// footer and blocks are those of a file that is read by its footer, nil otherwise.
	footer *arrowtype.Footer
	blocks *blockReader
	begun  bool
	last   *ipc.Message
	// err is why the messages ended, source the error of what they are read from; unpacked counts the bytes of memory of the last one, and
	// all those that were unpacked so far.
	err, source   error
	unpacked, all int64
	// reuse: bodies of record batches may come in the memory of those before, which is body.
	reuse bool
	body  []byte
	// dictionaries are the bytes of memory of each dictionary, held those of all of them but the one that the last message fills, filling.
	dictionaries map[int64]int64
	held         int64
	filling      *int64
}

// Open reads the head that only files have.
func Open(r *bufio.Reader, l Limits) (*Messages, error) {
	m := &Messages{r: r, limits: l}
	head, _ := r.Peek(mostFileHead)
	if !bytes.HasPrefix(head, []byte(Magic)) {
		return m, nil
	}
	m.file = true
	n := fileHead
	for n < len(head) && head[n] == 0 {
		n++
	}
	_, err := r.Discard(n)
	return m, err
}

// File reports whether there is a file, not a stream.
func (m *Messages) File() bool { return m.file }

// Unpacked is how many bytes of memory the last message takes, packed and unpacked.
func (m *Messages) Unpacked() int64 { return m.unpacked }

// Err is why the messages ended before their end, nil if they didn't.
func (m *Messages) Err() error {
	if m.err == io.EOF {
		return nil
	}
	return m.err
}

// SourceErr is the error of what the messages are read from, which states nothing of them; nil if there was none.
func (m *Messages) SourceErr() error { return m.source }

// End reads what follows the messages of a file to its end, and reports whether it is a footer: | footer | its length | magic |.
func (m *Messages) End() error {
	b, err := io.ReadAll(m.r)
	if err != nil {
		return err
	}
	n := len(b) - len(Magic) - 4
	if n < 0 || string(b[n+4:]) != Magic || int64(binary.LittleEndian.Uint32(b[n:])) != int64(n) {
		return errors.New("the end of an Arrow file is missing")
	}
	return nil
}

// Retain and Release implement ipc.MessageReader; the messages belong to one reader.
func (m *Messages) Retain() {}

// Release implements ipc.MessageReader.
func (m *Messages) Release() {}

// Reuse reports whether what the record batches from now on are made of is valid until the next message alone, which may come in the same
// memory. Dictionaries stay.
func (m *Messages) Reuse(may bool) { m.reuse = may }

// Message implements ipc.MessageReader: the next message, valid until the next call, or io.EOF.
func (m *Messages) Message() (*ipc.Message, error) {
	if m.err == nil {
		m.last, m.err = m.next()
	}
	var failed *sourceError
	if errors.As(m.err, &failed) {
		m.source = failed.err
	}
	return m.last, m.err
}

func (m *Messages) next() (*ipc.Message, error) {
	metadata, err := m.metadata()
	if err != nil {
		return nil, err
	}
	var body int64
	dictionary := false
	if m.begun {
		body, err = arrowtype.CheckBatchMessage(metadata)
		dictionary = arrowtype.IsDictionary(metadata)
	} else {
		err = arrowtype.CheckSchemaMessage(metadata)
	}
	if err != nil {
		return nil, err
	}
	m.begun = true
	m.settle()
	if dictionary {
		if err := m.fill(metadata); err != nil {
			return nil, err
		}
	}
	if err := m.checkBlock(body); err != nil {
		return nil, err
	}
	if body += m.held; body < 0 || body > m.limits.Message {
		return nil, m.limits.TooLarge(body, m.limits.Message)
	}
	body -= m.held
	data, err := m.readBody(metadata, body)
	if err != nil {
		return nil, err
	}
	if err := checkWindows(metadata, data, m.limits.Window); err != nil {
		return nil, err
	}
	m.unpacked = body
	return ipc.NewMessage(memory.NewBufferBytes(metadata), memory.NewBufferBytes(data)), nil
}

// metadata reads those of the next message.
func (m *Messages) metadata() ([]byte, error) {
	if m.footer != nil && !m.begun {
		return m.footer.Schema, nil
	}
	if m.footer != nil {
		if err := m.nextBlock(); err != nil {
			return nil, err
		}
	}
	size, err := m.length()
	if err != nil {
		return nil, err
	}
	if size > max(minMetadata, m.limits.Message/4) {
		return nil, m.limits.TooLarge(size, m.limits.Message/4)
	}
	b, err := readWhole(m.r, size, nil)
	if err == nil && m.footer != nil {
		err = m.endMetadata(size)
	}
	return b, err
}

// settle counts what the last message unpacked to for the dictionary that it filled.
func (m *Messages) settle() {
	if m.filling != nil {
		m.dictionaries[*m.filling] += m.unpacked
		m.held += m.unpacked
	}
	m.filling, m.unpacked = nil, 0
}

// fill begins a dictionary; one that replaces another has its memory, though not before it was read.
func (m *Messages) fill(metadata []byte) error {
	id, delta := arrowtype.DictionaryOf(metadata)
	if _, filled := m.dictionaries[id]; filled && !delta && m.footer != nil { // which batches mean which one, a footer does not state
		return errReplaced
	}
	if m.dictionaries == nil {
		m.dictionaries = map[int64]int64{}
	}
	if !delta {
		m.held -= m.dictionaries[id]
		m.dictionaries[id] = 0
	}
	m.filling = &id
	return nil
}

// length reads what stands before the metadata: a marker, which streams before Arrow 0.15 don't have, and the length,
// which is 0 at the end.
func (m *Messages) length() (int64, error) {
	var word [4]byte
	if n, err := io.ReadFull(m.r, word[:]); err == io.EOF && n == 0 && !m.file {
		return 0, io.EOF
	} else if err != nil {
		return 0, cutShort(err)
	}
	size := binary.LittleEndian.Uint32(word[:])
	if m.marked = size == 0xFFFFFFFF; m.marked {
		if _, err := io.ReadFull(m.r, word[:]); err != nil {
			return 0, cutShort(err)
		}
		size = binary.LittleEndian.Uint32(word[:])
	}
	switch {
	case size == 0 && !m.begun:
		return 0, arrowtype.ErrSchema
	case size == 0 && m.footer != nil:
		return 0, errBlock
	case size == 0:
		return 0, io.EOF
	case size < 4 || size > maxMetadata:
		return 0, arrowtype.ErrBatch
	}
	return int64(size), nil
}

// readBody reads what a message of a batch is made of.
func (m *Messages) readBody(metadata []byte, size int64) ([]byte, error) {
	if !m.reuse || arrowtype.IsDictionary(metadata) {
		return readWhole(m.r, size, nil)
	}
	data, err := readWhole(m.r, size, m.body)
	if cap(data) > cap(m.body) {
		m.body = data
	}
	return data, err
}

// readWhole reads so many bytes, into buf where they have space in it, and else makes space for them as they come: a length may be anything.
func readWhole(r io.Reader, size int64, buf []byte) ([]byte, error) {
	const step = 16 << 20
	if buf = buf[:0]; int64(cap(buf)) >= size {
		buf = buf[:0:size]
	} else {
		n := int(min(size, step))
		buf = bufpool.Bytes(n)[:0:n] // of which nobody sees more than was read; it may have capacity beyond n
	}
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

// sourceError is an error of what messages are read from, which states nothing of the messages.
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

// Memory gives an allocator for what is unpacked from messages: as much as the limits are. Its panic is caught by the
// reader, and its reason kept.
func (m *Messages) Memory() memory.Allocator { return limited{memory.NewGoAllocator(), m} }

type limited struct {
	memory.Allocator
	messages *Messages
}

// Allocate implements memory.Allocator.
func (a limited) Allocate(size int) []byte {
	a.claim(size)
	return a.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (a limited) Reallocate(size int, b []byte) []byte {
	a.claim(size - len(b))
	return a.Allocator.Reallocate(size, b)
}

func (a limited) claim(size int) {
	m := a.messages
	if size < 0 {
		return
	}
	m.unpacked += int64(size)
	m.all += int64(size)
	l := &m.limits
	switch {
	case m.unpacked > l.Message-m.held || m.unpacked < 0:
		m.err = l.TooLarge(m.unpacked, l.Message)
	case l.Unpacked > 0 && m.all > l.Unpacked:
		m.err = l.TooLarge(m.all, l.Unpacked)
	default:
		return
	}
	panic(m.err)
}
