package block

// Planes decodes planes of words of four bytes the short way, reports whether that went, and the general way.
func Planes(sub []byte, n int) (short []uint32, ok bool, general []uint32, err error) {
	short, general = make([]uint32, n), make([]uint32, n)
	var s Scratch
	ok = isPlanes(sub, n) && decodePlanes(short, sub, &s)
	return short, ok, general, decodeAnyRuns(general, sub, unsigned, &s)
}

// Planes64 is Planes for words of eight bytes.
func Planes64(sub []byte, n int) (short []uint64, ok bool, general []uint64, err error) {
	short, general = make([]uint64, n), make([]uint64, n)
	var s Scratch
	ok = isPlanes(sub, n) && decodePlanes(short, sub, &s)
	return short, ok, general, decodeAnyRuns(general, sub, unsigned, &s)
}
