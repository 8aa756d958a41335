package lance

import (
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"google.golang.org/protobuf/encoding/protowire"
)

// Names of the messages in an Any, as other readers compare them.
const (
	arrayEncodingURL  = "/" + arrayEncodingType
	columnEncodingURL = "/" + columnEncodingType
)

// output is a file on its way out: what was written so far stays as it is.
type output struct {
	w       io.Writer
	at      int64
	columns []*columnOutput
}

// columnOutput is the metadata of a column, as far as it is known.
type columnOutput struct {
	pages    []pageOutput
	encoding []byte // ColumnEncoding
	buffers  []extent
	items    *sharedItems // of pages that were written; more may come
}

// pageOutput is the metadata of a page, as far as it is known.
type pageOutput struct {
	head     []byte       // Page without its encoding
	encoding []byte       // ArrayEncoding, or that of indices
	items    *sharedItems // what the indices stand for, or nil
}

// padding behind a buffer.
var padding = make([]byte, alignment)

// put writes a buffer, and gives its place.
func (o *output) put(b []byte) (extent, error) {
	x := extent{o.at, int64(len(b))}
	if err := o.raw(b); err != nil {
		return x, err
	}
	if rest := o.at % alignment; rest > 0 {
		return x, o.raw(padding[rest:])
	}
	return x, nil
}

func (o *output) raw(b []byte) error {
	n, err := o.w.Write(b)
	o.at += int64(n)
	return err
}

// page writes a page of n values: its buffers, by their indices in the encoding. If it has items in common with other pages,
// the encoding is that of its indices.
func (o *output) page(column int, n uint64, encoding []byte, encoder *pageEncoder) error {
	c := o.columns[column]
	if encoder.items != nil && encoder.items != c.items {
		if err := o.share(c); err != nil {
			return err
		}
		c.items = encoder.items
	}
	var offsets, sizes []uint64
	for _, b := range encoder.buffers {
		x, err := o.put(b)
		if err != nil {
			return err
		}
		offsets, sizes = append(offsets, uint64(x.at)), append(sizes, uint64(x.size))
	}
	p := appendNumbers(nil, 1, offsets)
	p = appendNumbers(p, 2, sizes)
	c.pages = append(c.pages, pageOutput{appendNumber(p, 3, n), encoding, encoder.items})
	return nil
}

// message is the Page.
func (p *pageOutput) message() []byte {
	encoding := p.encoding
	if p.items != nil {
		encoding = dictionaryOf(encoding, p.items.encoding, p.items.count)
	}
	return appendMessage(p.head, 4, directEncoding(arrayEncodingURL, encoding))
}

// finish writes what follows the buffers. A file inside another goes without the descriptor.
func (o *output) finish(descriptor []byte) error {
	var globals []extent
	if descriptor != nil {
		globals = []extent{{o.at, int64(len(descriptor))}}
		if err := o.raw(descriptor); err != nil {
			return err
		}
	}
	metadata := o.at
	var table []byte
	for _, c := range o.columns {
		b := c.message()
		table = appendExtent(table, extent{o.at, int64(len(b))})
		if err := o.raw(b); err != nil {
			return err
		}
	}
	columnTable := o.at
	globalTable := columnTable + int64(len(table))
	for _, g := range globals {
		table = appendExtent(table, g)
	}
	for _, at := range []int64{metadata, columnTable, globalTable} {
		table = binary.LittleEndian.AppendUint64(table, uint64(at))
	}
	table = binary.LittleEndian.AppendUint32(table, uint32(len(globals)))
	table = binary.LittleEndian.AppendUint32(table, uint32(len(o.columns)))
	table = binary.LittleEndian.AppendUint16(table, 0)
	table = binary.LittleEndian.AppendUint16(table, 3)
	return o.raw(append(table, magic...))
}

func appendExtent(dst []byte, x extent) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, uint64(x.at)), uint64(x.size))
}

// message is the ColumnMetadata.
func (c *columnOutput) message() []byte {
	encoding := c.encoding
	if encoding == nil {
		encoding = valuesEncoding
	}
	out := appendMessage(nil, 1, directEncoding(columnEncodingURL, encoding))
	for i := range c.pages {
		out = appendMessage(out, 2, c.pages[i].message())
	}
	var offsets, sizes []uint64
	for _, b := range c.buffers {
		offsets, sizes = append(offsets, uint64(b.at)), append(sizes, uint64(b.size))
	}
	return appendNumbers(appendNumbers(out, 3, offsets), 4, sizes)
}

// valuesEncoding is a ColumnEncoding of nothing special.
var valuesEncoding = appendMessage(nil, 1, nil)

// directEncoding wraps an encoding as the metadata hold it.
func directEncoding(url string, encoding []byte) []byte {
	message := appendMessage(appendMessage(nil, 1, []byte(url)), 2, encoding)
	return appendMessage(nil, 2, appendMessage(nil, 1, message))
}

// pageEncoder gathers the buffers of a page while its tree of encodings is made.
type pageEncoder struct {
	buffers [][]byte
	place   place        // where they will be
	first   int          // index there
	items   *sharedItems // that the page has in common with others, set by what encodes its indices
}

// flat adds a buffer of values.
func (p *pageEncoder) flat(bits uint64, b []byte) []byte {
	return arrayEncoding(flatKind, p.buffer(bits, b))
}

// compressed adds a buffer of bytes that are compressed by a scheme, if one is named.
func (p *pageEncoder) compressed(b []byte, scheme string, level int) []byte {
	out := p.buffer(8, b)
	if scheme != "" {
		how := appendNumber(appendMessage(nil, 1, []byte(scheme)), 2, uint64(level))
		out = appendMessage(out, 3, how)
	}
	return arrayEncoding(flatKind, out)
}

// buffer adds a buffer, and gives the Flat that names it.
func (p *pageEncoder) buffer(bits uint64, b []byte) []byte {
	ref := appendNumber(appendNumber(nil, 1, uint64(p.first+len(p.buffers))), 2, uint64(p.place))
	p.buffers = append(p.buffers, b)
	return appendMessage(appendNumber(nil, 1, bits), 2, ref)
}

// arrayEncoding is an ArrayEncoding of a kind.
func arrayEncoding(k kind, message []byte) []byte {
	return appendMessage(nil, protowire.Number(k), message)
}

// noNulls, someNulls and allNulls are the three cases of Nullable.
func noNulls(values []byte) []byte {
	return arrayEncoding(nullableKind, appendMessage(nil, 1, appendMessage(nil, 1, values)))
}

func someNulls(validity, values []byte) []byte {
	return arrayEncoding(nullableKind, appendMessage(nil, 2, appendMessage(appendMessage(nil, 1, validity), 2, values)))
}

func allNulls() []byte { return arrayEncoding(nullableKind, appendMessage(nil, 3, nil)) }

// compress makes a compressed buffer.
func compress(scheme string, level int, b []byte) ([]byte, error) {
	switch scheme {
	case schemeZstd:
		speed := zstd.SpeedFastest
		if level > 0 {
			speed = zstd.EncoderLevelFromZstd(level)
		}
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(speed))
		if err != nil {
			return nil, err
		}
		return w.EncodeAll(b, binary.LittleEndian.AppendUint64(nil, uint64(len(b)))), nil
	case schemeLz4:
		out := make([]byte, 4+lz4.CompressBlockBound(len(b)))
		binary.LittleEndian.PutUint32(out, uint32(len(b)))
		n, err := lz4.CompressBlock(b, out[4:], nil)
		return out[:4+n], err
	}
	return b, nil
}
