package parquetwrite

import (
	"io"

	"github.com/shardcat/shardcat/internal/bufpool"
)

// spool is memory that the pages of a column are written to, in blocks. It takes about as much as is in it, where a buffer that grows takes
// up to twice that, and one that is used again as much as the largest column.
type spool struct {
	blocks [][]byte
	block  int   // bytes of each
	size   int64 // what is in all
}

// Write adds bytes, and has no error.
func (s *spool) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		at := int(s.size % int64(s.block))
		if at == 0 {
			s.blocks = append(s.blocks, bufpool.Again(s.block))
		}
		k := copy(s.blocks[len(s.blocks)-1][at:], b)
		s.size += int64(k)
		b = b[k:]
	}
	return n, nil
}

// Tell gives the place of what is written next.
func (s *spool) Tell() int64 { return s.size }

// copyTo writes n of the bytes, from a place on.
func (s *spool) copyTo(w io.Writer, from, n int64) error {
	for n > 0 {
		at := from % int64(s.block)
		k := min(n, int64(s.block)-at)
		if _, err := w.Write(s.blocks[from/int64(s.block)][at : at+k]); err != nil {
			return err
		}
		from, n = from+k, n-k
	}
	return nil
}

// drop gives the memory back.
func (s *spool) drop() {
	for _, b := range s.blocks {
		bufpool.GiveBack(b)
	}
	s.blocks, s.size = nil, 0
}
