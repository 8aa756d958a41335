package layer

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/protoscan"
)

// Description is what a file states about itself, beyond what version 5 has space for. All of it is optional.
type Description struct {
	// Name of the file, for people who look for the cause of something.
	Name string
	// Settings of whoever wrote the file, in order.
	Settings []Setting
	// Types of the columns, nil if the file does not state them.
	Types []Pair
	// Writer is the program that wrote the file.
	Writer string
}

// TypesText is Types as ParseTypes reads them.
func (d *Description) TypesText() string { return TypesText(d.Types) }

// Setting is one key and its value.
type Setting struct{ Key, Value string }

// extension is a record in the zeros of the trailer, which readers of version 5 pass over:
//
//	@256 "AMLX" | u16 version | u16 length | a protobuf message
//	1 types as ParseTypes reads them, 2 name, 3 settings {1 key, 2 value}, 4 writer, 5 columns without a value index, as
//	bits, 6 table of filters {1 offset, 2 size, 3 bits a key, 4 fewest bytes of a key that is in them}
//
// A longer message has a block of its own, LFXX (u32 length at @8, the message at @32); then the length is 65535 and
// what follows it is u64 offset, u32 size.
type extension struct {
	Description
	keyless uint64   // columns without a value index, as bits
	table   location // of filters, of size 0 if there is none
	bits    uint64   // of a filter for each key
	minKey  uint64   // fewest bytes of a key that the filters hold
}

// Places and sizes of the record, in bytes. Records of more than seven columns reach into its place.
const (
	extensionAt      = 256
	extensionHeader  = 8
	extensionRoom    = 240
	extensionVersion = 1
	extensionInBlock = math.MaxUint16
	extensionColumns = 7
	// extensionBlock bounds the message of a block of its own.
	extensionBlock = 1 << 20
)

const (
	magicRecord    = "AMLX"
	magicExtension = "LFXX"
)

// writerName is what this package writes of itself.
const writerName = "shardcat"

// message is the record as a protobuf message.
func (x *extension) message() []byte {
	var b []byte
	text := func(n protowire.Number, s string) {
		if s != "" {
			b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
		}
	}
	if x.Types != nil {
		text(1, TypesText(x.Types))
	}
	text(2, x.Name)
	for _, s := range x.Settings {
		pair := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), s.Key)
		pair = protowire.AppendString(protowire.AppendTag(pair, 2, protowire.BytesType), s.Value)
		b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), pair)
	}
	text(4, x.Writer)
	if x.keyless != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 5, protowire.VarintType), x.keyless)
	}
	if x.table.size > 0 {
		var t []byte
		for i, v := range []uint64{uint64(x.table.offset), uint64(x.table.size), x.bits, x.minKey} {
			t = protowire.AppendVarint(protowire.AppendTag(t, protowire.Number(i+1), protowire.VarintType), v)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 6, protowire.BytesType), t)
	}
	return b
}

// parse reads the message of a file whose blocks end at end and which has so many columns.
func (x *extension) parse(b []byte, columns int, size int64) error {
	return protoscan.Each(b, func(n protowire.Number, v uint64, body []byte) (err error) {
		switch n {
		case 1:
			if x.Types, err = ParseTypes(string(body)); err == nil && len(x.Types) != columns {
				err = fmt.Errorf("types of %d columns, expected %d", len(x.Types), columns)
			}
		case 2:
			x.Name = string(body)
		case 3:
			var s Setting
			var value []byte
			s.Key, value, err = protoscan.Entry(body)
			s.Value = string(value)
			x.Settings = append(x.Settings, s)
		case 4:
			x.Writer = string(body)
		case 5:
			x.keyless = v
		case 6:
			return x.parseTable(body, size)
		}
		return err
	})
}

func (x *extension) parseTable(b []byte, size int64) error {
	var at [4]uint64
	err := protoscan.Each(b, func(n protowire.Number, v uint64, _ []byte) error {
		if n >= 1 && n <= 4 {
			at[n-1] = v
		}
		return nil
	})
	if err == nil {
		x.table, err = place(at[0], at[1], size, extensionAt)
	}
	x.bits, x.minKey = at[2], at[3]
	return err
}

// empty reports whether there is nothing to say.
func (x *extension) empty() bool {
	return x.Types == nil && x.Name == "" && len(x.Settings) == 0 && x.keyless == 0 && x.table.size == 0
}

// record is what stands in the trailer; put writes a block.
func (x *extension) record(put func([]byte) (location, error)) ([]byte, error) {
	message := x.message()
	out := binary.LittleEndian.AppendUint16([]byte(magicRecord), extensionVersion)
	if len(message) <= extensionRoom {
		return append(binary.LittleEndian.AppendUint16(out, uint16(len(message))), message...), nil
	}
	if len(message) > extensionBlock {
		return nil, fmt.Errorf("%w: name and settings of %d bytes, more than %d", corrupt.ErrUnsupported, len(message), extensionBlock)
	}
	b := make([]byte, blockHeader, blockHeader+len(message))
	binary.LittleEndian.PutUint32(b[8:], uint32(len(message)))
	b = pad(append(b, message...))
	seal(b, magicExtension)
	loc, err := put(b)
	out = binary.LittleEndian.AppendUint16(out, extensionInBlock)
	out = binary.LittleEndian.AppendUint64(out, uint64(loc.offset))
	return binary.LittleEndian.AppendUint32(out, uint32(loc.size)), err
}

// describe reads the record of a trailer, if there is one.
func (f *File) describe(ctx context.Context, trailer []byte) error {
	if f.t.compatible&compatibleRecord == 0 || len(f.t.columns) > extensionColumns {
		return nil
	}
	b := trailer[extensionAt:]
	if string(b[:4]) != magicRecord {
		return corrupt.At(extensionAt, "%q where record %q was expected", b[:4], magicRecord)
	}
	le := binary.LittleEndian
	if v := le.Uint16(b[4:]); v != extensionVersion {
		return f.unknownRecord(v)
	}
	message, n := b[extensionHeader:], le.Uint16(b[6:])
	if n == extensionInBlock {
		var err error
		if message, err = f.extensionBlock(ctx, le.Uint64(message), le.Uint32(message[8:])); err != nil {
			return err
		}
	} else if int(n) > len(message) {
		return corrupt.At(extensionAt+6, "a record of %d bytes", n)
	} else {
		message = message[:n]
	}
	if err := f.x.parse(message, len(f.t.columns), f.size); err != nil {
		return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: extensionAt, What: "invalid record in the trailer", Err: err}
	}
	if announced := f.t.incompatible&incompatibleKeyless != 0; announced != (f.x.keyless != 0) {
		return corrupt.At(extensionAt, "columns without a value index: %#x, announced: %t", f.x.keyless, announced)
	}
	return nil
}

// unknownRecord is nil where a record of another version may be passed over.
func (f *File) unknownRecord(v uint16) error {
	if f.t.incompatible&incompatibleKeyless == 0 {
		return nil
	}
	return corrupt.Unsupported(extensionAt+4, "unsupported version %d of the required record", v)
}

func (f *File) extensionBlock(ctx context.Context, offset uint64, size uint32) ([]byte, error) {
	loc, err := place(offset, uint64(size), f.size, extensionAt)
	if err != nil {
		return nil, err
	}
	if loc.size == 0 || loc.size > extensionBlock+blockUnit {
		return nil, corrupt.At(extensionAt, "a record of %d bytes", loc.size)
	}
	b, err := f.stored(ctx, loc)
	if err == nil {
		err = checkSeal(b, magicExtension)
	}
	if err != nil {
		return nil, err
	}
	f.recordBytes = loc.size
	n := binary.LittleEndian.Uint32(b[8:])
	if uint64(n) > uint64(len(b)-blockHeader) {
		return nil, corrupt.At(extensionAt, "a record of %d bytes in a block of %d", n, len(b))
	}
	return b[blockHeader : blockHeader+n], nil
}

// Description is what the file states about itself.
func (f *File) Description() Description {
	d := f.x.Description
	d.Settings, d.Types = slices.Clone(d.Settings), slices.Clone(d.Types)
	return d
}
