package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// An Arrow file begins with its magic, padded to 8 bytes, and by some writers, Lance's among them, to 64. A message begins with a byte that is not zero.
const fileHead, mostFileHead = 8, 64

// mostWindow is the window of zstd that is taken for a list of any length, in bytes.
const mostWindow = 8 << 20

var magic = []byte("ARROW1")

// messages reads the messages of an Arrow file one after the other: | marker | length | metadata | body |, the first of which is the schema,
// up to a length of 0. The footer behind them says where they are, which need not be believed. It checks what Arrow's reader makes room for.
type messages struct {
	left  []byte
	most  int64
	begun bool
}

// Retain and Release implement ipc.MessageReader; the messages belong to one reader.
func (m *messages) Retain() {}

// Release implements ipc.MessageReader.
func (m *messages) Release() {}

// Message implements ipc.MessageReader.
func (m *messages) Message() (*ipc.Message, error) {
	first := !m.begun
	if first {
		if !bytes.HasPrefix(m.left, magic) || len(m.left) < fileHead {
			return nil, errors.New("no Arrow file")
		}
		head := fileHead
		for head < min(mostFileHead, len(m.left)) && m.left[head] == 0 {
			head++
		}
		m.left, m.begun = m.left[head:], true
	}
	size, err := m.length()
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, m.end()
	}
	metadata, err := m.take(size)
	if err != nil {
		return nil, err
	}
	if first {
		if err := arrowtype.CheckSchemaMessage(metadata); err != nil {
			return nil, err
		}
		return ipc.NewMessage(memory.NewBufferBytes(metadata), memory.NewBufferBytes(nil)), nil
	}
	n, err := arrowtype.CheckBatchMessage(metadata)
	if err != nil {
		return nil, err
	}
	body, err := m.take(n)
	if err != nil {
		return nil, err
	}
	if err := arrowtype.CheckWindows(metadata, body, uint64(m.most)+mostWindow); err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(metadata), memory.NewBufferBytes(body)), nil
}

// end is io.EOF if nothing but a footer follows: | footer | its length | magic |.
func (m *messages) end() error {
	const around = 4 + 6
	n := len(m.left) - around
	if n < 0 || !bytes.HasSuffix(m.left, magic) || int64(binary.LittleEndian.Uint32(m.left[n:])) != int64(n) {
		return errors.New("the end of an Arrow file is missing")
	}
	return io.EOF
}

// length reads what stands before the metadata: a marker, which files before Arrow 0.15 don't have, and the length.
func (m *messages) length() (int64, error) {
	for range 2 {
		word, err := m.take(4)
		if err != nil {
			return 0, err
		}
		if n := binary.LittleEndian.Uint32(word); n != 0xFFFFFFFF {
			return int64(n), nil
		}
	}
	return 0, arrowtype.ErrBatch
}

func (m *messages) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(m.left)) {
		return nil, io.ErrUnexpectedEOF
	}
	b := m.left[:n]
	m.left = m.left[n:]
	return b, nil
}
