package column

import (
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// A value dictionary is stored as it is, its entries, their offsets and their order: 12 bytes an entry besides its text. Where
// many texts repeat in runs, as the hour of an event does, Zstd makes less of the texts themselves. What it would be is tried,
// in the profile that requests the smallest that reads well.

const (
	// entryBytes are those of an entry in a value dictionary besides its text: an offset u64, and its place in the order u32.
	entryBytes = 12
	// smallDictionary is the share of the codes, as a divisor, below which a dictionary isn't worth a trial.
	smallDictionary = 8
	// textsGain is what texts must take at most, in percent of dictionary and codes, to be stored: they are read slower.
	textsGain = 90
)

// smallerAsTexts reports whether the values, compressed as texts, take less than codes and dictionary. It is estimated on as
// many values as make a flush, from the middle; codes is what their codes come to, 0 if nobody knows.
func (e *bytesEncoder) smallerAsTexts(codes int) (_ bool, err error) {
	d := e.dict
	entries := len(d.data) + entryBytes*len(d.counts)
	if e.o.Profile != encode.HighCompression || e.fixed > 0 || e.limit > 0 {
		return false, nil
	}
	sample := d.sample()
	if codes == 0 {
		if codes, err = e.sizeOfCodes(d.order(d.byValue), d.byValue); err != nil {
			return false, err
		}
	}
	share := float64(len(d.codes)) / float64(len(sample))
	if entries*smallDictionary < int(float64(codes)*share) {
		return false, nil
	}
	texts, err := e.sizeAsTexts(sample)
	return float64(texts)*share*100 < (float64(codes)*share+float64(entries))*textsGain, err
}

// sizeAsTexts is what the values of some ids come to as texts.
func (e *bytesEncoder) sizeAsTexts(ids []uint32) (size int, err error) {
	var data []byte
	var valid bitmap
	offsets := make([]int64, 1, len(ids)+1)
	for i, id := range ids {
		v := e.dict.value(id)
		valid.set(v != nil, i)
		data = append(data, v...)
		offsets = append(offsets, int64(len(data)))
	}
	_, err = e.encoder(false).CutBytes(encode.Bytes{Data: data, Offsets: offsets, Valid: valid.bytes()}, true, sizeIn(&size))
	return size, err
}

// sizeIn adds the sizes of blocks, without their frames.
func sizeIn(size *int) func(encode.Block) error {
	return func(b encode.Block) error {
		*size += len(b.Presence) + len(b.Sub)
		return nil
	}
}
