package block

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Opaque are the dictionaries that the compressed blocks of a buffer may name, by their buffer ids: bytes that a
// compressor treats as if they stood before each block. A Zstd frame names one in its own header (Dictionary_ID);
// an Lz4 payload by the top bit of its size, behind which the id stands:
//
//	0  size u32 | 1 << 31
//	4  id u32
//	8  one raw LZ4 block
//
// Safe for concurrent use once all dictionaries were added.
type Opaque struct {
	raw  map[uint32][]byte
	zstd sync.Pool
}

const (
	// lz4Dictionary is the bit of the size of an Lz4 payload that reports that an id follows.
	lz4Dictionary = 1 << 31
	// zstdMagic begins a dictionary that zstd's tools have trained, which has tables and an id of its own.
	zstdMagic = "\x37\xa4\x30\xec"
)

// Add takes the dictionary of an id, which is not 0. Nothing of content may change any more.
func (o *Opaque) Add(id uint32, content []byte) error {
	if id == 0 {
		return corrupt.At(0, "an opaque dictionary with the reserved id 0")
	}
	if len(content) >= len(zstdMagic) && string(content[:len(zstdMagic)]) == zstdMagic {
		return corrupt.Unsupported(0, "an opaque dictionary in zstd's dictionary format; expected raw content")
	}
	if len(content) < 8 {
		return corrupt.At(0, "an opaque dictionary of %d bytes", len(content))
	}
	if o.raw == nil {
		o.raw = make(map[uint32][]byte)
	}
	o.raw[id] = content
	return nil
}

// decoder gives a decoder that knows all dictionaries.
func (o *Opaque) decoder() (*zstd.Decoder, error) {
	if d, ok := o.zstd.Get().(*zstd.Decoder); ok {
		return d, nil
	}
	options := zstdOptions()
	for id, content := range o.raw {
		options = append(options, zstd.WithDecoderDictRaw(id, content))
	}
	return zstd.NewReader(nil, options...)
}

// unzstd fills dst, exactly, from zstd frames that may name a dictionary.
func (o *Opaque) unzstd(dst, src []byte) error {
	if unzstdEven(dst, src) {
		return nil
	}
	if o == nil || len(o.raw) == 0 {
		d := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(d)
		return unzstd(d, dst, src)
	}
	d, err := o.decoder()
	if err != nil {
		return corrupt.Unsupported(0, "opaque dictionary: %v", err)
	}
	defer o.zstd.Put(d)
	return unzstd(d, dst, src)
}

// unlz4 fills dst, exactly, from one raw LZ4 block that begins behind the dictionary of an id.
func (o *Opaque) unlz4(dst, src []byte) (n int, err error) {
	if len(src) < 4 {
		return 0, corrupt.At(0, "Lz4: no dictionary id in %d bytes", len(src))
	}
	id := uint32(u32(src, 0))
	content, known := []byte(nil), false
	if o != nil {
		content, known = o.raw[id]
	}
	if !known {
		return 0, corrupt.At(0, "Lz4: no opaque dictionary has the id %d", id)
	}
	n, err = lz4.UncompressBlockWithDict(src[4:], dst, content)
	if err != nil {
		return n, &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 4, What: "LZ4 block", Err: err}
	}
	return n, nil
}

// unknownDictionary makes the error of a frame that names a dictionary which is not there.
func unknownDictionary(err error) error {
	if errors.Is(err, zstd.ErrUnknownDictionary) {
		return corrupt.At(0, "Zstd: the frame names an opaque dictionary that the field does not have")
	}
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 0, What: "zstd frame", Err: err}
}
