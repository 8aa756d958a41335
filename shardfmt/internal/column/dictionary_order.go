package column

import (
	"math"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// Entries of a value dictionary go by frequency, so that most codes are small. Where the rows go by what the texts say, as the hour
// of an event does, codes by value are close to the ones before, and their steps say less. What that would be is tried, in the
// profiles that code steps by how often each occurs.

// orderGain is what codes by value must take at most, in percent of those by frequency.
const orderGain = 95

// minOrdered is how many codes there are at least where their order is looked at.
const minOrdered = 1024

// sample is as many codes as make a flush, from the middle.
func (d *dictionaryBuilder) sample() []uint32 {
	n := min(len(d.codes), encode.FlushValues)
	return d.codes[(len(d.codes)-n)/2:][:n]
}

// orderEntries decides by what the entries of the dictionary go. It reports what the sample of codes comes to then, 0 where that was not weighed.
func (e *bytesEncoder) orderEntries() (codes int, err error) {
	d := e.dict
	if e.o.Profile != encode.HighCompression && e.o.Profile != encode.MinimalSize || e.fixed > 0 || len(d.codes) < minOrdered {
		return 0, nil
	}
	order := d.order(true)
	if !d.closeBy(ranksOf(order)) {
		return 0, nil
	}
	byCount, err := e.sizeOfCodes(d.order(false), false)
	if err != nil {
		return 0, err
	}
	byValue, err := e.sizeOfCodes(order, true)
	if d.byValue = byValue*100 < byCount*orderGain; d.byValue {
		return byValue, err
	}
	return byCount, err
}

// closeBy reports whether the steps between codes, which are the ranks of ids, are of half as many bits as report how often each code occurs, or fewer.
func (d *dictionaryBuilder) closeBy(rank []uint32) bool {
	sample, steps := d.sample(), 0
	for i := range sample[1:] {
		step := int64(rank[sample[i+1]]) - int64(rank[sample[i]])
		steps += bits.Len64(uint64(step<<1^step>>63)) + 1
	}
	information := 0.0
	for _, n := range d.counts {
		if n > 0 {
			information -= float64(n) * math.Log2(float64(n)/float64(len(d.codes)))
		}
	}
	return float64(steps)*2/float64(len(sample)) < information/float64(len(d.codes))
}

// sizeOfCodes is what the sample comes to as codes of entries in an order, which is by value or by frequency.
func (e *bytesEncoder) sizeOfCodes(order []uint32, byValue bool) (size int, err error) {
	rank, ids := ranksOf(order), e.dict.sample()
	codes := make([]uint32, len(ids))
	for i, id := range ids {
		codes[i] = rank[id]
	}
	_, err = encode.CutNumbers(e.codeEncoder(byValue), codes, nil, true, sizeIn(&size))
	return size, err
}

// ranksOf is the place of each id in an order.
func ranksOf(order []uint32) []uint32 {
	rank := make([]uint32, len(order))
	for to, from := range order {
		rank[from] = uint32(to)
	}
	return rank
}
