// Package avrofile reads Avro object container files, and of their records only what its caller requests: the caller
// walks over the values of a record with a Cursor and skips those that it doesn't need, so that nothing is made of them.
//
//	"Obj" 0x01 | metadata: blocks of (count, then count × (key, value)), ended by a count of 0 | 16-byte marker
//	blocks:      count of records | length in bytes | the records, compressed | the marker again
//
// Counts and lengths are zigzag varints; a negative count is followed by the length of its items in bytes.
//
// It reads what Iceberg's manifests consist of. Recursive types, records that are named again, and codecs other than
// null, deflate, zstandard and snappy are ErrUnsupported, which is known before the first record: another reader may then be
// asked.
package avrofile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

const (
	magic      = "Obj\x01"
	markerSize = 16
	// maxBlock bounds what a block may be decompressed to. Writers end a block at some tens of kilobytes; one that grew by
	// a thousand is still below it.
	maxBlock = 128 << 20
	// maxHeader bounds how many entries the metadata may have.
	maxHeader = 1 << 10
)

// ErrUnsupported is a file of a form that this package leaves to others.
var ErrUnsupported = errors.New("unsupported form of an Avro file")

// File is a file whose header was read.
type File struct {
	// Metadata of the header, avro.schema and avro.codec among them.
	Metadata map[string][]byte
	// Schema of the records.
	Schema *Type

	data   []byte
	begin  int // of the first block
	marker []byte
	codec  string
}

// Open reads the header of a file.
func Open(data []byte) (*File, error) {
	f := &File{Metadata: map[string][]byte{}, data: data}
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, corrupt.At(0, "not an Avro file")
	}
	c := Cursor{left: rest}
	for n := c.Items(); n > 0; n = c.Items() {
		for ; n > 0 && !c.bad; n-- {
			key := c.Bytes()
			f.Metadata[string(key)] = c.Bytes()
		}
		if len(f.Metadata) > maxHeader {
			return nil, fmt.Errorf("%w: more than %d entries in its header", ErrUnsupported, maxHeader)
		}
	}
	f.marker = c.Fixed(markerSize)
	if c.bad {
		return nil, corrupt.At(int64(len(data)), "the header of the Avro file ends early")
	}
	f.begin = len(data) - len(c.left)
	switch f.codec = string(f.Metadata["avro.codec"]); f.codec {
	case "", "null", "deflate", "zstandard", "snappy":
	default:
		return nil, fmt.Errorf("%w: codec %q", ErrUnsupported, f.codec)
	}
	var err error
	f.Schema, err = parseSchema(f.Metadata["avro.schema"])
	return f, err
}

// Block is some records.
type Block struct {
	// Offset of the block in the file, Records in it.
	Offset  int64
	Records int64
	Cursor
}

// Blocks yields the blocks of the file; each is valid until the next one is requested. It stops at the first error,
// which it yields.
func (f *File) Blocks() iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		d := decompressor{codec: f.codec}
		defer d.close()
		c := Cursor{left: f.data[f.begin:]}
		inflated := int64(0)
		for len(c.left) > 0 {
			b := &Block{Offset: int64(len(f.data) - len(c.left)), Records: c.Long()}
			stored := c.Bytes()
			marker := c.Fixed(markerSize)
			if c.bad || b.Records < 0 || !bytes.Equal(marker, f.marker) {
				yield(nil, corrupt.At(b.Offset, "the Avro block is cut off, or not followed by the file's marker"))
				return
			}
			var err error
			if b.left, err = d.decompress(stored); err == nil {
				if inflated += int64(len(b.left)); inflated > minInflated+maxRatio*int64(len(f.data)) {
					err = errInflated(len(f.data))
				}
			}
			if err != nil {
				yield(nil, corrupt.At(b.Offset, "the Avro block can't be decompressed: %v", err))
				return
			}
			if b.Records > int64(len(b.left)) {
				yield(nil, corrupt.At(b.Offset, "%d records in %d bytes", b.Records, len(b.left)))
				return
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// decompressor reuses its memory from block to block.
type decompressor struct {
	codec string
	out   bytes.Buffer
	flate io.ReadCloser
	zstd  *zstd.Decoder
}

var errBlockSize = fmt.Errorf("larger than %d bytes", maxBlock)

func (d *decompressor) decompress(stored []byte) ([]byte, error) {
	var from io.Reader
	var err error
	switch d.codec {
	case "deflate":
		from, err = d.inflater(stored)
	case "zstandard":
		from, err = d.zstandard(stored)
	case "snappy":
		return d.unsnap(stored)
	default:
		return stored, nil
	}
	if err != nil {
		return nil, err
	}
	d.out.Reset()
	if _, err := d.out.ReadFrom(io.LimitReader(from, maxBlock+1)); err != nil {
		return nil, err
	}
	if d.out.Len() > maxBlock {
		return nil, errBlockSize
	}
	return d.out.Bytes(), nil
}

// unsnap decompresses snappy's block format, which a CRC32 of the decompressed bytes follows.
func (d *decompressor) unsnap(stored []byte) ([]byte, error) {
	const sum = 4
	if len(stored) < sum {
		return nil, errSnappy
	}
	packed, check := stored[:len(stored)-sum], binary.BigEndian.Uint32(stored[len(stored)-sum:])
	n, err := s2.DecodedLen(packed)
	if err != nil {
		return nil, err
	}
	if n > maxBlock || n > snappyRatio*len(packed) {
		return nil, errBlockSize
	}
	out, err := s2.Decode(nil, packed)
	if err == nil && crc32.ChecksumIEEE(out) != check {
		err = errSnappy
	}
	return out, err
}

// snappyRatio is above what snappy can compress by: a copy of 64 bytes takes 2 or more.
const snappyRatio = 64

var errSnappy = errors.New("checksum mismatch")

func (d *decompressor) inflater(stored []byte) (io.Reader, error) {
	if d.flate == nil {
		d.flate = flate.NewReader(bytes.NewReader(stored))
		return d.flate, nil
	}
	return d.flate, d.flate.(flate.Resetter).Reset(bytes.NewReader(stored), nil)
}

func (d *decompressor) zstandard(stored []byte) (_ io.Reader, err error) {
	if d.zstd == nil {
		d.zstd, err = zstd.NewReader(bytes.NewReader(stored), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
		return d.zstd, err
	}
	return d.zstd, d.zstd.Reset(bytes.NewReader(stored))
}

func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}
