package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

var textNode = &schema.Node{Name: "s", Basic: schema.String, Nullable: true}

// urls are texts that have much in common, one in nine null.
func urls(n int) arrow.Array {
	b := array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range n {
		if i%9 == 4 {
			b.AppendNull()
			continue
		}
		b.Append(fmt.Sprintf("https://example.com/a/long/path/that/all/values/share?id=%d&h=%x", i, uint32(i)*2654435761))
	}
	return b.NewArray()
}

// Text compressed with an opaque dictionary reads back, whole and in part, its blocks name the dictionary, and without it
// they are corrupt.
func TestOpaqueDictionary(t *testing.T) {
	want := urls(3000)
	f := store(t, textNode, want, &Options{Opaque: map[uint32]bool{0: true}}, 3)
	for _, r := range []colstream.Range{{Start: 0, End: 3000}, {Start: 17, End: 18}, {Start: 2000, End: 2100}} {
		f.check(t, textNode, want, r)
	}
	native := f.fields[0].Encodings[0].GetNative()
	var dictionary *metapb.EncodedBuffer
	for i, b := range native.Buffers {
		if b.Kind == metapb.BufferKind_OPAQUE_DICTIONARY {
			dictionary = native.Buffers[i]
		}
	}
	if dictionary == nil || dictionary.GetBufferId() != opaqueID {
		t.Fatalf("no dictionary with an id in %v", native)
	}
	read := func() error {
		_, err := (&form{object: *f}).read(textNode, 3000)
		return err
	}
	for name, damage := range map[string]func() func(){
		"another id": func() func() {
			id := uint32(7)
			old := dictionary.BufferId
			dictionary.BufferId = &id
			return func() { dictionary.BufferId = old }
		},
		"no id": func() func() {
			old := dictionary.BufferId
			dictionary.BufferId = nil
			return func() { dictionary.BufferId = old }
		},
		"a flip": func() func() {
			at := dictionary.Buffer.Range.Start + 9
			f.bytes[at] ^= 1
			return func() { f.bytes[at] ^= 1 }
		},
	} {
		undo := damage()
		if err := read(); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		undo()
	}
	if err := read(); err != nil {
		t.Error(err)
	}
}

// An LZ4 block may copy from a dictionary that its payload names.
func TestOpaqueDictionaryOfLZ4(t *testing.T) {
	f := newForm()
	// Eight literals, then five bytes at least from 16 bytes back, which lie in the dictionary, and five literals.
	lz4 := []byte{0x84}
	lz4 = append(lz4, "01234567"...)
	lz4 = append(lz4, 16, 0, 0x50)
	lz4 = append(lz4, "vwxyz"...)
	const text = "01234567ABCDEFGHvwxyz"
	payload := binary.LittleEndian.AppendUint32(nil, uint32(len(text))|1<<31)
	payload = binary.LittleEndian.AppendUint32(payload, 9)
	payload = append(payload, lz4...)
	sub := binary.LittleEndian.AppendUint16(nil, uint16(block.Lz4))
	sub = append(binary.LittleEndian.AppendUint32(sub, uint32(len(payload))), 8, 0)
	sub = append(sub, payload...)
	for len(sub)%8 != 0 {
		sub = append(sub, 0)
	}
	for _, end := range []uint64{0, 16, uint64(len(text))} {
		sub = binary.LittleEndian.AppendUint64(sub, end)
	}
	var w colstream.StreamWriter
	if err := w.Add(encode.Block{Values: 2, Sub: sub}); err != nil {
		t.Fatal(err)
	}
	e := w.Finish()
	f.buffer(metapb.BufferKind_DATA, e.Bytes, e.MapStart).EmbeddedOffsets = true
	id := uint32(9)
	f.buffer(metapb.BufferKind_OPAQUE_DICTIONARY, meta.AppendFrame(nil, []byte("ABCDEFGH")), -1).BufferId = &id
	f.set(0, count(2))
	f.want(t, textNode, 2, `["01234567ABCDEFGH" "vwxyz"]`)
	id = 8
	if _, err := f.read(textNode, 2); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Error(err)
	}
}

// A field stored twice is read in its second encoding where a byte of the first is damaged, wherever that is, and the
// encodings passed over are counted.
func TestDamagedEncodingFallsBack(t *testing.T) {
	want := urls(2000)
	o := &Options{Encodings: map[uint32][]encode.Profile{0: {encode.Plain, encode.MinimalCompression}}}
	f := store(t, textNode, want, o, 2)
	encodings := f.fields[0].Encodings
	if len(encodings) != 3 {
		t.Fatalf("%d encodings", len(encodings))
	}
	first := encodings[0].GetNative().Buffers[0]
	r := first.Buffer.Range
	for _, at := range []uint64{r.Start + 10, r.End - 9, r.End - 30} {
		f.bytes[at] ^= 4
		skipped := 0
		c, err := OpenChoosing(t.Context(), Field{Source: f, Node: textNode, Records: 2000}, nil, Choice{Skipped: func(error) { skipped++ }})
		if err != nil {
			t.Fatal(err)
		}
		all := colstream.Range{Start: 0, End: 2000}
		var d arrow.ArrayData
		for range 3 {
			if err := f.fetch(c, []colstream.Range{all}, true); err != nil {
				t.Fatal(err)
			}
			if d, err = c.Read(all); !errors.Is(err, ErrOtherEncoding) {
				break
			}
		}
		if err != nil || !array.Equal(array.MakeFromData(d), want) || skipped != 1 {
			t.Errorf("byte %d: %v, %d skipped", at, err, skipped)
		}
		if _, err := OpenChoosing(t.Context(), Field{Source: f, Node: textNode, Records: 2000}, nil, Choice{Only: 3}); err != nil {
			t.Error(err)
		}
		f.bytes[at] ^= 4
	}
	for _, e := range encodings { // damaged in all: an error, not a loop
		f.bytes[e.GetNative().Buffers[0].Buffer.Range.Start+10] ^= 4
	}
	form := &form{object: *f}
	for range 4 {
		if _, err := form.read(textNode, 2000); !errors.Is(err, ErrOtherEncoding) && !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatal(err)
		}
	}
}

// Strings whose lengths are neither inside the blocks nor in OFFSETS have no layout, and are refused by name.
func TestDelimitedStringsAreRefused(t *testing.T) {
	f := store(t, textNode, urls(50), &Options{Profile: encode.Plain}, 1)
	f.fields[0].Encodings[0].GetNative().Buffers[0].EmbeddedOffsets = false
	_, err := (&form{object: *f}).read(textNode, 50)
	if !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), "delimited") {
		t.Error(err)
	}
}

// What states that no nulls are inside its blocks and has them there is corrupt.
func TestEmbeddedPresenceMeansWhatItSays(t *testing.T) {
	for name, c := range map[string]struct {
		node *schema.Node
		a    arrow.Array
	}{"text": {textNode, urls(50)}, "numbers": {numberNode, nullNumbers(50)}} {
		f := store(t, c.node, c.a, &Options{Profile: encode.Plain}, 1)
		f.fields[0].Encodings[0].GetNative().Buffers[0].EmbeddedPresence = false
		if _, err := (&form{object: *f}).read(c.node, 50); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func nullNumbers(n int) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		if i%3 == 0 {
			b.AppendNull()
		} else {
			b.Append(int64(i))
		}
	}
	return b.NewArray()
}
