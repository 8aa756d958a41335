package simd

// TextSlack is how many bytes behind the entries of a dictionary GatherTexts may read, where there are so many.
const TextSlack = 32

// TextEnds writes where the texts of codes end, one after the other from offsets[0] = 0 on, and gives the last end. Entry c is the
// bytes from ends[c] to ends[c+1]; there is one offset more than codes, and codes are below len(ends)-1.
func TextEnds(offsets []int64, codes []uint32, ends []int64) int64 {
	offsets = offsets[:len(codes)+1]
	offsets[0] = 0
	active.textEnds(offsets, codes, ends)
	return offsets[len(codes)]
}

// textEnds goes on from the first of offsets.
func textEnds(offsets []int64, codes []uint32, ends []int64) {
	at := offsets[0]
	offsets = offsets[1:][:len(codes)]
	for i, c := range codes {
		at += ends[c+1] - ends[c]
		offsets[i] = at
	}
}

// MoveEnds adds a number to the ends of texts, and reports whether they began at 0 or above and never fell.
func MoveEnds(ends []int64, by int64) bool { return active.moveEnds(ends, by) }

func moveEnds(ends []int64, by int64) bool {
	last, fell := int64(0), int64(0)
	for i, at := range ends {
		fell |= (at - last) | at
		last = at
		ends[i] = at + by
	}
	return fell >= 0
}

// Gather16 fills dst with the entry of every code. It returns false if a code is beyond dict.
func Gather16(dst, dict [][16]byte, codes []uint32) bool { return active.gather16(dst, dict, codes) }

func gather16Bytes(dst, dict [][16]byte, codes []uint32) bool {
	codes = codes[:len(dst)]
	for i, c := range codes {
		if int64(c) >= int64(len(dict)) {
			return false
		}
		dst[i] = dict[c]
	}
	return true
}

// GatherTexts fills dst with text[ends[c]:ends[c+1]] of every code c, one after the other from offsets[0] = 0 on: value i ends at
// offsets[i+1], before or where its entry would if it is null and takes nothing. dst has exactly the space they need; codes are below
// len(ends)-1, and ends rise inside text. longest is the most bytes of an entry.
func GatherTexts(dst []byte, offsets []int64, codes []uint32, ends []int64, text []byte, longest int) {
	i := 0
	if active.texts != nil && longest <= TextSlack {
		i = active.texts(dst, offsets, codes, ends, text, longest)
	}
	for ; i < len(codes); i++ {
		switch { // most are copied with more than they have, which the next ones write over
		case longest <= 16:
			i += gather16(dst, offsets[i:], codes[i:], ends, text)
		case longest <= 32:
			i += gather32(dst, offsets[i:], codes[i:], ends, text)
		}
		if i < len(codes) {
			start := ends[codes[i]]
			copy(dst[offsets[i]:offsets[i+1]], text[start:])
		}
	}
}

// gather16 copies sixteen bytes of each entry, as long as both slices have as many, and reports about how many codes.
func gather16(dst []byte, offsets []int64, codes []uint32, ends []int64, text []byte) int {
	offsets = offsets[:len(codes)]
	for i, c := range codes {
		at, from := offsets[i], ends[c]
		if at > int64(len(dst))-16 || from > int64(len(text))-16 {
			return i
		}
		*(*[16]byte)(dst[at:]) = [16]byte(text[from:])
	}
	return len(codes)
}

// gather32 is gather16 for 32 bytes.
func gather32(dst []byte, offsets []int64, codes []uint32, ends []int64, text []byte) int {
	offsets = offsets[:len(codes)]
	for i, c := range codes {
		at, from := offsets[i], ends[c]
		if at > int64(len(dst))-32 || from > int64(len(text))-32 {
			return i
		}
		*(*[32]byte)(dst[at:]) = [32]byte(text[from:])
	}
	return len(codes)
}
