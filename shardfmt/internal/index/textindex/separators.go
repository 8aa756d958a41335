package textindex

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// separators are the greatest terms of the pages of a level, in order, and where these are. In a colstream.Tape each is
//
//	length of the term, the term, number of the page     uvarint, bytes, uvarint
type separators struct {
	tape *colstream.Tape
	n    int
	room []byte
}

func newSeparators(s *colstream.Spill) *separators { return &separators{tape: colstream.NewTape(s)} }

// add appends the separator of page number child.
func (s *separators) add(term []byte, child uint64) error {
	s.n++
	s.room = append(binary.AppendUvarint(s.room[:0], uint64(len(term))), term...)
	s.room = binary.AppendUvarint(s.room, child)
	_, err := s.tape.Write(s.room)
	return err
}

// each calls do with all separators; last marks the last one.
func (s *separators) each(do func(e pageEntry, last bool) error) error {
	r := bufio.NewReader(s.tape.Reader())
	for i := range s.n {
		n, err := binary.ReadUvarint(r)
		if err != nil {
			return err
		}
		e := pageEntry{term: make([]byte, n)}
		if _, err := io.ReadFull(r, e.term); err != nil {
			return err
		}
		if e.child, err = binary.ReadUvarint(r); err != nil {
			return err
		}
		if err := do(e, i == s.n-1); err != nil {
			return err
		}
	}
	return nil
}
