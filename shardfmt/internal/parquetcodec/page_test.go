package parquetcodec

import (
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// header is one of a page of version 2 of 3 values in PLAIN, of which 2 bytes are definition levels.
func header(size int) []byte {
	return PageHeader{Type: file.PageTypeDataPageV2, Size: size, Numbers: []int{3, 0, 3, 0, 2, 0}}.Append(nil)
}

func TestParsePage(t *testing.T) {
	b := append(header(6), "llvvvv"...)
	p, err := ParsePage(b)
	if err != nil || p.Kind != DataPageV2 || p.Values != 3 || p.DefSize != 2 || p.RepSize != 0 || p.Encoding != parquet.Encodings.Plain || p.Size() != len(b) {
		t.Fatalf("%+v %v", p, err)
	}
	u := &Unpacker{Codec: compress.Codecs.Snappy}
	if err := u.Unpack(&p, b); err != nil || string(p.Levels) != "ll" || string(p.Data) != "vvvv" {
		t.Fatalf("%+v %v", p, err)
	}
	v1, err := ParsePage(PageHeader{Type: file.PageTypeDataPage, Size: 9, Numbers: []int{4, 8, 3, 4}}.Append(nil))
	if err != nil || v1.Values != 4 || v1.Encoding != parquet.Encodings.RLEDict || v1.DefEncoding != parquet.Encodings.RLE || v1.RepEncoding != parquet.Encodings.BitPacked {
		t.Errorf("%+v %v", v1, err)
	}
	for i := range len(header(6)) {
		if _, err := ParsePage(b[:i]); err == nil {
			t.Errorf("a header of %d bytes", i)
		}
	}
	for name, b := range map[string][]byte{
		"another kind than its fields": slices.Concat([]byte{0x15, 0}, header(6)[2:]),
		"a negative size":              slices.Concat(header(6)[:2], []byte{0x15, 1}, header(6)[4:]),
		"no number of values":          PageHeader{Type: file.PageTypeDataPage, Size: 9}.Append(nil),
		"no kind":                      {0},
	} {
		if p, err := ParsePage(b); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Pages that are shorter, or longer, than their headers state are refused, and memory that is not there is not taken.
func TestUnpackRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *Page)
		codec  compress.Compression
	}{
		"beyond the chunk":         {change: func(p *Page) { p.compressed++ }},
		"levels beyond the page":   {change: func(p *Page) { p.DefSize = 7 }},
		"levels beyond the values": {change: func(p *Page) { p.uncompressed = 1 }},
		"levels alone":             {change: func(p *Page) { p.uncompressed, p.flag = 1, -1 }, codec: compress.Codecs.Zstd},
		"longer":                   {change: func(p *Page) { p.uncompressed++ }},
		"not of its codec":         {change: func(p *Page) { p.flag = -1 }, codec: compress.Codecs.Zstd},
		"of no codec":              {change: func(p *Page) { p.flag = -1 }, codec: 99},
	} {
		b := slices.Clip(append(header(6), "llvvvv"...))
		p, err := ParsePage(b)
		if err != nil {
			t.Fatal(err)
		}
		c.change(&p)
		if err := (&Unpacker{Codec: c.codec, Take: func(uint64) error { return nil }}).Unpack(&p, b); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	p, small := Page{uncompressed: 1 << 30, flag: -1}, errors.New("too much")
	if err := (&Unpacker{Codec: compress.Codecs.Zstd, Take: func(n uint64) error { return small }}).Unpack(&p, nil); !errors.Is(err, small) {
		t.Error(err)
	}
}

func TestPlainRefuses(t *testing.T) {
	int64s, texts := Leaf{Type: parquet.Types.Int64}, Leaf{Type: parquet.Types.ByteArray}
	enough := func(uint64) error { return nil }
	if _, err := int64s.Plain(parquet.Encodings.DeltaByteArray, nil, 1, enough); !errors.Is(err, ErrEncoding) {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		leaf Leaf
		e    parquet.Encoding
		data []byte
	}{
		"streams of half a value":  {int64s, parquet.Encodings.ByteStreamSplit, make([]byte, 12)},
		"streams of more values":   {int64s, parquet.Encodings.ByteStreamSplit, make([]byte, 32)},
		"wide differences":         {int64s, parquet.Encodings.DeltaBinaryPacked, append([]byte{8, 1, 3, 0, 0, 65}, make([]byte, 99)...)},
		"differences beyond":       {int64s, parquet.Encodings.DeltaBinaryPacked, append([]byte{8, 1, 3, 0, 0, 64}, make([]byte, 63)...)},
		"no widths":                {int64s, parquet.Encodings.DeltaBinaryPacked, []byte{16, 2, 3, 0, 0, 0}},
		"texts beyond":             {texts, parquet.Encodings.DeltaLengthByteArray, []byte{8, 1, 2, 4, 0, 0, 'a', 'b', 'c'}},
		"a prefix of no text":      {texts, parquet.Encodings.DeltaByteArray, []byte{8, 1, 1, 2, 8, 1, 1, 2, 'a'}},
		"more prefixes than texts": {texts, parquet.Encodings.DeltaByteArray, []byte{8, 1, 2, 0, 0, 0, 8, 1, 1, 2, 'a'}},
	} {
		if out, err := c.leaf.Plain(c.e, c.data, 3, enough); err == nil {
			t.Errorf("%s: %x", name, out)
		}
	}
	// A prefix is repeated by a few bytes: what becomes of it is charged first.
	taken := uint64(0)
	sum := func(n uint64) error { taken += n; return nil }
	out, err := texts.Plain(parquet.Encodings.DeltaByteArray, slices.Concat([]byte{8, 1, 2, 0, 80, 0}, []byte{8, 1, 2, 80, 79, 0}, make([]byte, 40)), 3, sum)
	if err != nil || len(out) != 88 || taken < 2*16+88 {
		t.Errorf("%d bytes of %d: %v", len(out), taken, err)
	}
	numbers, err := int64s.Plain(parquet.Encodings.DeltaBinaryPacked, []byte{8, 1, 3, 9, 3, 0}, 3, enough)
	if want := []int64{-5, -7, -9}; err != nil || !slices.Equal(arrow.Int64Traits.CastFromBytes(numbers), want) {
		t.Errorf("%v %v", arrow.Int64Traits.CastFromBytes(numbers), err)
	}
}
