package formattest

import "strings"

const textsAbout = "Blocks of byte strings, of any length and of one size, each with its frame and checksum. Values are hexadecimal bytes."

func textFile() (*File, error) {
	b := new(blocks)
	texts(b, "an empty one between", "Plain", []string{"ab", "", "cde"})
	texts(b, "a null has no bytes", "Plain", []string{"x", "", "é"}, 1)
	texts(b, "no value", "Plain", nil)
	fixed(b, "of four bytes", "Plain", []string{"AAAA", "BBBB"})
	fixed(b, "of three bytes, a null", "Plain", []string{"abc", "\x00\x00\x00", "def"}, 1)
	texts(b, "one value for all", "SingleValue", []string{"ab", "ab", "ab"})
	texts(b, "one value, and nulls", "SingleValue", []string{"ab", "", "ab"}, 1)
	texts(b, "the empty value", "SingleValue", []string{"", ""})
	dictionaryTexts(b)
	symbolTexts(b)
	compressedTexts(b)
	return b.file("bytes", textsAbout)
}

func dictionaryTexts(b *blocks) {
	texts(b, "three lengths, the bytes behind them without padding", "BlockDictionary[Plain, raw]", []string{"b", "a", "b", "ccc", "b", "a"})
	texts(b, "lengths nested", "BlockDictionary[FLBitPack, FLBitPack]", []string{"one", "two", "one", "three", "two", "one"})
	texts(b, "code 0 for nulls; an empty entry", "BlockDictionary[Plain, SingleValue]", []string{"", "", "", "", ""}, 1, 3)
	texts(b, "an odd number of codes and entries", "BlockDictionary[Plain, raw]", []string{"red", "green", "red", "blue", "red"})
}

func symbolTexts(b *blocks) {
	logs := logLines(12)
	texts(b, "offsets raw", "Fsst[raw]", logs)
	texts(b, "offsets nested", "Fsst[Delta[Plain]]", logs)
	texts(b, "offsets nested two deep, a null", "Fsst[RunLength[FusedFrameOfReference, raw]]", append([]string{""}, logs...), 0)
	texts(b, "escapes of bytes that no symbol has", "Fsst[raw]", []string{strings.Repeat("abc", 40), "\xff\xfe", strings.Repeat("cab", 20)})
	fixed(b, "of one size: no offsets", "Fsst", []string{"prefix-000001", "prefix-000002", "prefix-000003", "prefix-000001"})
}

func compressedTexts(b *blocks) {
	logs := logLines(6)
	for _, code := range []string{"Zstd", "Lz4"} {
		texts(b, "offsets raw", code+"[raw]", logs)
		texts(b, "offsets nested", code+"[FLBitPack]", logs)
		texts(b, "empty values and a null", code+"[raw]", []string{"", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", "b", ""}, 2)
		fixed(b, "of one size: no offsets", code, []string{"0123456789abcdef", "0123456789abcdef", "0123456789abcdee"})
	}
}

// logLines are texts that have much in common.
func logLines(n int) []string {
	out := make([]string, n)
	for i, k := range scattered[uint32](n, 1000) {
		out[i] = "GET /index.html?user=" + strings.Repeat("7", int(k%5)) + " HTTP/1.1 200 OK"
	}
	return out
}
