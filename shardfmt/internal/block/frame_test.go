package block

import (
	"bytes"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// The whole blocks of docs/format/blocks.md, output of the reference.
var frames = []struct {
	name               string
	dump               string
	checksum           bool
	presence, valueHex string
}{
	{"three ints", `00 00 00 00 0e 00 00 00 01 00 01 00 00 00 02 00 00 00 03 00 00 00 00 00 00 00 00 00 8e 54 bc ea`,
		true, "", "01 00 01 00 00 00 02 00 00 00 03 00 00 00"},
	{"null in the middle", `04 00 00 00 0e 00 00 00 02 01 00 01 00 00 00 00
		01 00 01 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 00 00 82 03 c9 3b`,
		true, "02 01 00 01", "01 00 01 00 00 00 00 00 00 00 03 00 00 00"},
	{"all null", `01 00 00 00 0a 00 00 00 01 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 c3 fb 80 9b`,
		true, "01", "01 00 00 00 00 00 00 00 00 00"},
	{"no checksum", `00 00 00 00 04 00 00 00 01 00 55 01 00 00 00 00`, false, "", "01 00 55 01"},
	{"strings", `04 00 00 00 26 00 00 00 02 01 00 01 00 00 00 00 01 00 08
		00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00
		61 62 63 00 00 00 00 00 00 8c 6f 7f d9`, true, "02 01 00 01", `01 00 08
		00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 61 62 63`},
	{"delta of one value", `00 00 00 00 1a 00 00 00 05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 00 07 00 00 00 00 00 00 00
		00 00 91 f2 2b b5`, true, "", "05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 00 07 00 00 00 00 00 00 00"},
}

func TestFrame(t *testing.T) {
	for _, c := range frames {
		t.Run(c.name, func(t *testing.T) {
			block := unhex(t, c.dump)
			f, err := ParseFrame(block, c.checksum)
			if err != nil {
				t.Fatal(err)
			}
			if want := unhex(t, c.presence); !bytes.Equal(f.Presence, want) {
				t.Errorf("presence % x, want % x", f.Presence, want)
			}
			if want := unhex(t, c.valueHex); !bytes.Equal(f.Values, want) {
				t.Errorf("values % x, want % x", f.Values, want)
			}
			if at := f.ValuesOffset(); !bytes.Equal(block[at:at+int64(len(f.Values))], f.Values) {
				t.Errorf("values aren't at %d", at)
			}
			if again := AppendFrame(nil, f.Presence, f.Values, c.checksum); !bytes.Equal(again, block) {
				t.Errorf("written again: % x\nwant           % x", again, block)
			}
		})
	}
}

// Every flipped bit of a checksummed block is found.
func TestFrameChecksum(t *testing.T) {
	block := unhex(t, frames[1].dump)
	for bit := range 8 * len(block) {
		block[bit/8] ^= 1 << (bit % 8)
		if _, err := ParseFrame(block, true); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
		block[bit/8] ^= 1 << (bit % 8)
	}
}

func TestFrameTooShort(t *testing.T) {
	block := unhex(t, frames[3].dump)
	for n := range block {
		_, err := ParseFrame(block[:n], false)
		if n >= 12 { // header and values; the padding isn't needed
			if err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
		} else if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	huge := unhex(t, "ff ff ff ff ff ff ff ff 00 00 00 00 00 00 00 00")
	if _, err := ParseFrame(huge, false); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("sizes of 4 GiB: %v", err)
	}
	if _, err := ParseFrame(huge[:3], true); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("no room for a checksum: %v", err)
	}
}
