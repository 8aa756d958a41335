package encode

import (
	"github.com/klauspost/compress/zstd"
)

// Dictionary is an opaque dictionary of a buffer: bytes that Zstd treats as if they stood before each block. It is worth
// its bytes where blocks are small and alike.
type Dictionary struct {
	// ID is the id of the dictionary's buffer, not 0; Content at least eight bytes.
	ID      uint32
	Content []byte

	encoders map[zstd.EncoderLevel]*zstd.Encoder
}

const (
	// opaqueSize is the most bytes of a dictionary: what is gained by a larger one is less than a read of it costs.
	opaqueSize = 32 << 10
	// opaquePiece is how much of a value goes into it: what values have in common mostly stands at their start.
	opaquePiece = 512
	// leastOpaque is the least content that is worth a buffer.
	leastOpaque = 64
)

// SampleDictionary makes a dictionary of values spread evenly over those given, of which value i is
// data[offsets[i]:offsets[i+1]], or data[i*fixed:(i+1)*fixed] where fixed is positive; nil if there is too little to
// learn from. Values come once each, the ones from the middle last, where matches are cheapest.
func SampleDictionary(id uint32, data []byte, offsets []int64, fixed int) *Dictionary {
	n := len(offsets) - 1
	if fixed > 0 {
		n = len(data) / fixed
	}
	step, seen := max(1, n*opaquePiece/(4*opaqueSize)), map[string]bool{}
	d := &Dictionary{ID: id}
	for i := 0; i < n && len(d.Content) < opaqueSize; i += step {
		var v []byte
		if fixed > 0 {
			v = data[i*fixed : (i+1)*fixed]
		} else {
			v = data[offsets[i]:offsets[i+1]]
		}
		v = v[:min(len(v), opaquePiece, opaqueSize-len(d.Content))]
		if len(v) > 0 && !seen[string(v)] {
			seen[string(v)] = true
			d.Content = append(d.Content, v...)
		}
	}
	if len(d.Content) < leastOpaque {
		return nil
	}
	return d
}

// at is the Zstd encoder of a level that has the dictionary.
func (d *Dictionary) at(level zstd.EncoderLevel) *zstd.Encoder {
	if z := d.encoders[level]; z != nil {
		return z
	}
	z, err := zstd.NewWriter(nil, append(zstdOptions(level), zstd.WithEncoderDictRaw(d.ID, d.Content))...)
	if err != nil {
		panic(err) // the options are constants, and a dictionary is as long as it must be
	}
	if d.encoders == nil {
		d.encoders = make(map[zstd.EncoderLevel]*zstd.Encoder)
	}
	d.encoders[level] = z
	return z
}
