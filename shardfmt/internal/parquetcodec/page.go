package parquetcodec

import (
	"errors"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// Kinds of pages; there may be others, which have no values.
const (
	DataPage       = 0
	DictionaryPage = 2
	DataPageV2     = 3
)

var errPage = errors.New("invalid page header")

// Page is a page of a column chunk: its header, and what it has once it is unpacked.
type Page struct {
	Kind int
	// Values is the number of values, nulls and empty lists.
	Values   int
	Encoding parquet.Encoding
	// RepEncoding and DefEncoding are those of the levels of a page of version 1, RepSize and DefSize their bytes in one of version 2.
	RepEncoding, DefEncoding parquet.Encoding
	RepSize, DefSize         int
	// Levels are those of a page of version 2, the repetition levels first. Data is all else, in version 1 with the levels.
	Levels, Data []byte

	header                   int // length
	compressed, uncompressed int
	// flag is where the header reports that the values are not compressed, -1 if nowhere.
	flag int
}

// ParsePage reads the header at the start of b.
func ParsePage(b []byte) (p Page, err error) {
	var encoding, rep, def, skipped int
	found, t := -1, &compact{b: b}
	p = Page{Kind: -1, Values: -1, flag: -1}
	err = t.fields(func(id int, kind byte) error {
		if kind == i32Kind && id >= 1 && id <= 3 {
			return t.number([]*int{&p.Kind, &p.uncompressed, &p.compressed}[id-1])
		}
		var into []*int
		switch id { // DataPageHeader, DictionaryPageHeader, DataPageHeaderV2
		case 5:
			found, into = DataPage, []*int{&p.Values, &encoding, &def, &rep}
		case 7:
			found, into = DictionaryPage, []*int{&p.Values, &encoding}
		case 8:
			found, into = DataPageV2, []*int{&p.Values, &skipped, &skipped, &encoding, &p.DefSize, &p.RepSize}
		}
		if into == nil || kind != structKind {
			return t.skip(kind, 0)
		}
		return t.fields(func(field int, kind byte) error {
			if kind == i32Kind && field >= 1 && field <= len(into) {
				return t.number(into[field-1])
			}
			if id == 8 && field == 7 && kind == falseKind { // is_compressed
				p.flag = t.field
			}
			return t.skip(kind, 0)
		})
	})
	p.Encoding, p.RepEncoding, p.DefEncoding, p.header = parquet.Encoding(encoding), parquet.Encoding(rep), parquet.Encoding(def), t.at
	if err == nil && (p.Kind < 0 || p.HasValues() && (found != p.Kind || p.Values < 0)) {
		err = errPage
	}
	return p, err
}

// HasValues reports whether the page is one of a kind that has values.
func (p *Page) HasValues() bool {
	return p.Kind == DataPage || p.Kind == DictionaryPage || p.Kind == DataPageV2
}

// Size is the number of bytes of the page with its header.
func (p *Page) Size() int { return p.header + p.compressed }

// lies reports whether the page is compressed though its header denies it.
func (p *Page) lies() bool { return p.flag >= 0 && p.compressed != p.uncompressed }

// Unpacker unpacks pages, each in the memory of the last one.
type Unpacker struct {
	Codec compress.Compression
	// Misflagged: pages may be compressed though their header denies it.
	Misflagged bool
	// Take is given the bytes that are needed before there is memory for them.
	Take func(size uint64) error

	room []byte
}

// Unpack unpacks the page that starts at b.
func (u *Unpacker) Unpack(p *Page, b []byte) error {
	if p.compressed > len(b)-p.header {
		return errors.New("a page beyond the end of its column chunk")
	}
	b = b[p.header:][:p.compressed]
	size, plain := p.uncompressed, u.Codec == compress.Codecs.Uncompressed
	if p.Kind == DataPageV2 {
		levels := p.RepSize + p.DefSize
		if levels > min(len(b), size) {
			return errors.New("levels beyond the end of their page")
		}
		p.Levels, b, size = b[:levels], b[levels:], size-levels
		plain = plain || p.flag >= 0 && !(u.Misflagged && p.lies())
	}
	if p.Data = b; !plain {
		codec, err := compress.GetCodec(u.Codec)
		if err != nil {
			return err
		}
		if size > cap(u.room) || u.room == nil {
			if err := u.Take(uint64(size)); err != nil {
				return err
			}
			u.room = make([]byte, size)
		}
		if p.Data, err = compress.Decode(codec, u.room[:size:size], b); err != nil {
			return err
		}
	}
	if len(p.Data) != size {
		return errors.New("a page of another size than its header states")
	}
	return nil
}
