package fileio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The two processes speak in frames, over a pipe each way:
//
//	| kind, 1 byte | length, 4 bytes little-endian | payload |
//
//	to the reader     o  a readerRequest as JSON, first and once
//	                  b  the bytes that were requested; x in their place: the text of an error
//	                  f  the slot that was sent first of those not yet freed is free again
//	from the reader   r  offset and length, 8 bytes each: bytes of the file are wanted
//	                  c  8 bytes: how many bytes of a lent file were read since the last report
//	                  d  the next piece of an Arrow IPC stream of the file's batches
//	                  m  4 bytes: as many bytes of the next slot of the shared memory are the next piece
//	                  e  the end of the stream; x in its place: the text of an error of the file;
//	                     i: that of an error of reading a lent file, which states nothing of what is in it
//
// What comes back is checked as any Arrow stream is.
const (
	frameOpen   = 'o'
	frameBytes  = 'b'
	frameError  = 'x'
	frameFree   = 'f'
	frameRead   = 'r'
	frameCount  = 'c'
	frameData   = 'd'
	frameSlot   = 'm'
	frameEnd    = 'e'
	frameFailed = 'i'
)

// maxFrame bounds a frame, in bytes; larger reads are done in parts.
const maxFrame = 16 << 20

// frameHead is what stands before a payload, and shortFrame the longest payload that is written together with it, in bytes.
const frameHead, shortFrame = 5, 64

// frames reads and writes frames. Writes are whole; a request and its answer are one call of ask.
type frames struct {
	r       *bufio.Reader
	writing sync.Mutex
	w       io.Writer
	asking  sync.Mutex
	// payload is the memory of the frame that was read last.
	payload []byte
	// free are the slots that a reader may write to. Whoever reads frames of a reader has asking.
	free int
}

func (c *frames) write(kind byte, payload []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	var head [frameHead + shortFrame]byte
	head[0] = kind
	binary.LittleEndian.PutUint32(head[1:], uint32(len(payload)))
	if len(payload) <= shortFrame { // one call of the system, of which the other process wakes up once
		n := copy(head[frameHead:], payload)
		_, err := c.w.Write(head[:frameHead+n])
		return err
	}
	if _, err := c.w.Write(head[:frameHead]); err != nil {
		return err
	}
	_, err := c.w.Write(payload)
	return err
}

// head reads what stands before a payload.
func (c *frames) head() (kind byte, size int, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, 0, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, 0, fmt.Errorf("a frame of %d bytes", n)
	}
	return head[0], int(n), nil
}

// read reads a frame, whose payload is valid until the next one is read.
func (c *frames) read() (kind byte, payload []byte, err error) {
	kind, size, err := c.head()
	if err != nil {
		return 0, nil, err
	}
	payload, err = c.payloadOf(size)
	return kind, payload, err
}

// payloadOf reads a payload, which is valid until the next frame is read.
func (c *frames) payloadOf(size int) ([]byte, error) {
	if cap(c.payload) < size {
		c.payload = make([]byte, size)
	}
	_, err := io.ReadFull(c.r, c.payload[:size])
	return c.payload[:size], err
}

// expect reads a frame of one kind, or an error in its place.
func (c *frames) expect(want byte) ([]byte, error) {
	kind, payload, err := c.read()
	if err == nil && kind != want {
		err = other(kind, payload, want)
	}
	return payload, err
}

// awaitSlot waits until there is a free slot, and takes it.
func (c *frames) awaitSlot() error {
	c.asking.Lock()
	defer c.asking.Unlock()
	for c.free == 0 {
		if _, err := c.expect(frameFree); err != nil {
			return err
		}
		c.free++
	}
	c.free--
	return nil
}

// expectInto is expect for a payload that fills p, to which it is read. Slots may be freed before.
func (c *frames) expectInto(want byte, p []byte) error {
	kind, size, err := c.head()
	for err == nil && kind == frameFree && size == 0 {
		c.free++
		kind, size, err = c.head()
	}
	switch {
	case err != nil:
		return err
	case kind == want && size == len(p):
		_, err = io.ReadFull(c.r, p)
		return err
	case kind == want:
		return io.ErrUnexpectedEOF
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(c.r, payload); err != nil {
		return err
	}
	return other(kind, payload, want)
}

// other is the error of a frame of another kind than was expected.
func other(kind byte, payload []byte, want byte) error {
	if kind == frameError {
		return errors.New(string(payload))
	}
	return fmt.Errorf("frame %q where %q was expected", kind, want)
}
