package simd

import "bytes"

// Needle is a text that is looked for in texts compressed by FSST.
type Needle struct {
	text   []byte
	pairs  [1 << 16 / wordBits]uint64 // those of its bytes that follow each other, the first one lowest
	single [1 << 8 / wordBits]uint64  // its bytes
}

// NewNeedle looks for a text.
func NewNeedle(text []byte) *Needle {
	n := &Needle{text: text}
	for i, b := range text {
		n.single[b/wordBits] |= 1 << (b % wordBits)
		if i > 0 {
			pair := uint16(text[i-1]) | uint16(b)<<8
			n.pairs[pair/wordBits] |= 1 << (pair % wordBits)
		}
	}
	return n
}

// Text is what is looked for.
func (n *Needle) Text() []byte { return n.text }

func (n *Needle) has(b byte) bool { return n.single[b/wordBits]>>(b%wordBits)&1 == 1 }

// mayHave is false if a symbol is certainly no part of the text: if two of its bytes never follow each other there.
func (n *Needle) mayHave(symbol uint64, length int) bool {
	if length == 1 {
		return n.has(byte(symbol))
	}
	for ; length > 1; length-- {
		pair := uint16(symbol)
		if n.pairs[pair/wordBits]>>(pair%wordBits)&1 == 0 {
			return false
		}
		symbol >>= 8
	}
	return true
}

// MayHold is false if what src stands for certainly has no needle in it. Nothing is decoded for that: the codes of a needle but for
// the first and the last, which may begin before it or end behind it, are parts of it, and stand for all but a few of its bytes. So
// the codes from a first one on are looked at in steps of as many as those are at least, and where one is a part of the needle, it
// is looked at how many bytes it and those around it come to.
func (t *FsstTable) MayHold(src []byte, n *Needle) bool {
	longest := 1
	for _, l := range t.lengths {
		longest = max(longest, int(l))
	}
	need := len(n.text) - 2*(longest-1)
	if need <= 0 {
		return true
	}
	// size is how many bytes a code in a needle stands for at most; away is that of others.
	const away = 255
	var size [256]uint8
	for c, l := range t.lengths {
		size[c] = away
		if l > 0 && n.mayHave(t.symbols[c], int(l)) {
			size[c] = l
		}
	}
	if bytes.IndexByte(src, fsstEscape) >= 0 { // any byte of the needle may stand behind one
		size[fsstEscape] = 0
		for c := range fsstEscape {
			if n.has(byte(c)) && size[c] == away {
				size[c] = 1
			}
		}
		if n.has(fsstEscape) {
			size[fsstEscape] = 1
		}
	}
	step := (need + longest - 1) / longest
	for i := step - 1; i < len(src); i += step {
		if size[src[i]] == away {
			continue
		}
		sum := int(size[src[i]])
		for k := i - 1; k >= 0 && sum < need && size[src[k]] != away; k-- {
			sum += int(size[src[k]])
		}
		for i++; i < len(src) && sum < need && size[src[i]] != away; i++ {
			sum += int(size[src[i]])
		}
		if sum >= need {
			return true
		}
	}
	return false
}
