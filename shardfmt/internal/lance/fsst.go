package lance

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// A symbol table of FSST: u64 header (the magic in the upper 32 bits, bit 24 reports whether anything is compressed, the
// lowest byte is the number of symbols), 8 bytes a symbol, a byte for the length of each.
const (
	symbolHeader = 8
	symbolMagic  = 0x46535354
	symbolOn     = 1 << 24
	maxSymbol    = 8
	symbolEscape = 255 // the next byte stands for itself
)

// symbolTable expands the codes of FSST.
type symbolTable struct {
	symbols [256][maxSymbol]byte
	lengths [256]uint8 // 0 for codes that stand for nothing
}

// parseSymbols reads a table; it is nil if the bytes are stored as they are.
func parseSymbols(b []byte) (*symbolTable, error) {
	if len(b) < symbolHeader {
		return nil, corrupt.At(-1, "a symbol table of %d bytes", len(b))
	}
	header := binary.LittleEndian.Uint64(b)
	if header>>32 != symbolMagic {
		return nil, corrupt.At(-1, "a symbol table that begins with % x", b[:symbolHeader])
	}
	if header&symbolOn == 0 {
		return nil, nil
	}
	n := int(header & 0xFF)
	if symbolHeader+n*(maxSymbol+1) > len(b) {
		return nil, corrupt.At(-1, "%d symbols in a table of %d bytes", n, len(b))
	}
	t := &symbolTable{}
	lengths := b[symbolHeader+n*maxSymbol:]
	for i := range n {
		copy(t.symbols[i][:], b[symbolHeader+i*maxSymbol:])
		if t.lengths[i] = lengths[i]; lengths[i] < 1 || lengths[i] > maxSymbol {
			return nil, corrupt.At(-1, "a symbol of %d bytes", lengths[i])
		}
	}
	return t, nil
}

// expand decodes all values, and moves their offsets to where they end in what it gives.
func (t *symbolTable) expand(b []byte, offsets []uint64) ([]byte, error) {
	out := make([]byte, 0, len(b)*3)
	start := uint64(0)
	for i := 1; i < len(offsets); i++ {
		value := b[start:offsets[i]]
		start = offsets[i]
		for at := 0; at < len(value); at++ {
			code := value[at]
			if code == symbolEscape {
				if at++; at == len(value) {
					return nil, corrupt.At(int64(start), "an escape without its byte")
				}
				out = append(out, value[at])
				continue
			}
			n := t.lengths[code]
			if n == 0 {
				return nil, corrupt.At(int64(start), "unknown symbol code %d", code)
			}
			out = append(out, t.symbols[code][:n]...)
		}
		offsets[i] = uint64(len(out))
	}
	return out, nil
}
