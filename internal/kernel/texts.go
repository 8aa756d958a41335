package kernel

// TextSlack is how many bytes behind the entries of a dictionary GatherTexts may read, where there are so many.
const TextSlack = 32

// GatherTexts fills dst with text[ends[c]:ends[c+1]] of every code c, one after the other from offsets[0] = 0 on: value i ends at
// offsets[i+1], before or where its entry would if it is null and takes nothing. dst has exactly the room they need; codes are below
// len(ends)-1, and ends rise inside text. longest is the most bytes of an entry.
func GatherTexts(dst []byte, offsets []int64, codes []uint32, ends []int64, text []byte, longest int) {
	for i := 0; i < len(codes); i++ {
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

// gather16 copies sixteen bytes of each entry, as long as both slices have as many, and tells of how many codes.
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
