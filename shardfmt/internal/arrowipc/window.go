package arrowipc

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// Arrow's reader unpacks zstd without a limit of its own, and zstd takes memory for a whole window, of which a frame of a
// dozen bytes may claim half a GiB. So the frames' headers are looked at before anything is unpacked.

// checkWindows refuses a message with a buffer that claims a window of more than most bytes.
func checkWindows(metadata, body []byte, most uint64) error {
	for _, r := range arrowtype.ZstdBuffers(metadata) {
		start, end := r[0], r[1]
		if start < 0 || end < start || end > int64(len(body)) {
			return arrowtype.ErrBatch
		}
		// The length of what it becomes stands before it, −1 where the buffer is not packed after all.
		b := body[start:end]
		if len(b) <= 8 || int64(binary.LittleEndian.Uint64(b)) == -1 {
			continue
		}
		if err := checkFrames(b[8:], most); err != nil {
			return err
		}
	}
	return nil
}

// checkFrames goes through zstd frames, one after the other, from header to header.
func checkFrames(b []byte, most uint64) (err error) {
	for len(b) > 0 && err == nil {
		var h zstd.Header
		if err := h.Decode(b); err != nil {
			return err
		}
		if h.Skippable {
			b, err = after(b, int64(h.HeaderSize)+int64(h.SkippableSize))
			continue
		}
		window := h.WindowSize
		if h.SingleSegment {
			window = h.FrameContentSize
		}
		if window > most {
			return fmt.Errorf("a zstd window of %d bytes: up to %d are read", window, most)
		}
		if b, err = afterBlocks(b[h.HeaderSize:]); err == nil && h.HasCheckSum {
			b, err = after(b, 4)
		}
	}
	return err
}

// afterBlocks is what follows the blocks of a frame. A block is | last 1 bit, type 2 bits, size 21 bits | content |, and the
// content of a repeated byte is that one byte.
func afterBlocks(b []byte) (rest []byte, err error) {
	const repeated = 1
	for {
		if len(b) < 3 {
			return nil, io.ErrUnexpectedEOF
		}
		head := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		size := int64(head >> 3)
		if head>>1&3 == repeated {
			size = 1
		}
		if b, err = after(b[3:], size); err != nil || head&1 != 0 {
			return b, err
		}
	}
}

// after leaves n bytes out.
func after(b []byte, n int64) ([]byte, error) {
	if n > int64(len(b)) {
		return nil, io.ErrUnexpectedEOF
	}
	return b[n:], nil
}
