package cole

import "encoding/binary"

// encodeIntegers makes the data of a page.
func encodeIntegers(t Type, e Encoding, values []int64) []byte {
	switch e {
	case RLE:
		return appendRuns(nil, values)
	case Delta:
		return appendDeltas(nil, t, values)
	}
	out := make([]byte, 0, len(values)*t.width())
	for _, v := range values {
		out = appendFixed(out, t, v)
	}
	return out
}

func appendFixed(dst []byte, t Type, v int64) []byte {
	if t == Int32 {
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(v))
}

// countRuns is the number of maximal runs of equal values.
func countRuns(values []int64) int {
	n := 0
	for i, v := range values {
		if i == 0 || v != values[i-1] {
			n++
		}
	}
	return n
}

func appendRuns(dst []byte, values []int64) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(countRuns(values)))
	for i := 0; i < len(values); {
		j := i + 1
		for j < len(values) && values[j] == values[i] {
			j++
		}
		dst = appendSvarint(binary.AppendUvarint(dst, uint64(j-i)), values[i])
		i = j
	}
	return dst
}

// appendDeltas lets differences wrap in the width of the type, as decoding does.
func appendDeltas(dst []byte, t Type, values []int64) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(appendFixed(dst, t, values[0]), uint64(len(values)-1))
	for i, v := range values[1:] {
		d := v - values[i]
		if t == Int32 {
			d = int64(int32(d))
		}
		dst = appendSvarint(dst, d)
	}
	return dst
}

// encodeTexts makes the data of a page of strings.
func encodeTexts(e Encoding, values []string) []byte {
	if e == Dictionary {
		return appendDictionary(nil, values)
	}
	var out []byte
	end := uint32(0)
	out = binary.LittleEndian.AppendUint32(out, end)
	for _, v := range values {
		end += uint32(len(v))
		out = binary.LittleEndian.AppendUint32(out, end)
	}
	for _, v := range values {
		out = append(out, v...)
	}
	return out
}

// appendDictionary lists the entries in order of appearance.
func appendDictionary(dst []byte, values []string) []byte {
	known := map[string]int64{}
	indices := make([]int64, len(values))
	var entries []string
	for i, v := range values {
		k, ok := known[v]
		if !ok {
			k = int64(len(entries))
			known[v] = k
			entries = append(entries, v)
		}
		indices[i] = k
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(entries)))
	for _, v := range entries {
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
	}
	return appendRuns(dst, indices)
}

// Thresholds of choosing an encoding.
const (
	// minRun is the average run from which RLE is chosen: 4 values take 2 bytes or more.
	minRun = 4
	// maxDistinct is the share of distinct strings, 1/2, up to which a dictionary is chosen.
	maxDistinct = 2
)

// chooseIntegers picks the encoding of a column by its first row group.
func chooseIntegers(values []int64) Encoding {
	if len(values) == 0 {
		return Plain
	}
	if len(values) >= minRun*countRuns(values) {
		return RLE
	}
	for i, v := range values[1:] {
		if v < values[i] {
			return Plain
		}
	}
	return Delta
}

func chooseTexts(values []string) Encoding {
	known := map[string]bool{}
	for _, v := range values {
		known[v] = true
	}
	if len(known)*maxDistinct < len(values) {
		return Dictionary
	}
	return Plain
}
