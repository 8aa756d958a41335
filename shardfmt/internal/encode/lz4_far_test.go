package encode

import (
	"math/rand/v2"
	"testing"
)

// phrases are so many phrases of three words of six letters, of 256 words, in four different orders.
func phrases(n int) (text []byte) {
	r := rand.New(rand.NewPCG(9, 9))
	var words [256][6]byte
	for i := range words {
		for j := range words[i] {
			words[i][j] = byte('a' + r.IntN(26))
		}
	}
	all := make([][]byte, n)
	for i := range all {
		for range 3 {
			all[i] = append(all[i], words[r.IntN(len(words))][:]...)
		}
	}
	for range 4 {
		for _, i := range r.Perm(n) {
			text = append(text, all[i]...)
		}
	}
	return text
}

// Phrases that come again within the 64 KiB that LZ4 sees are found although thousands of words came between, each of which is another repetition, of
// fewer bytes: the long table has as many places as there are positions in reach. With a quarter of them this text comes to a sixth more.
func TestLZ4FindsPhrasesFarOff(t *testing.T) {
	text := phrases(3000)
	checkLZ4(t, new(lz4Encoder), text)
	if made := new(lz4Encoder).compress(nil, text); len(made) > len(text)*35/100 {
		t.Errorf("%d of %d bytes", len(made), len(text))
	}
}
