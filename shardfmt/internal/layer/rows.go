package layer

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// rowWriter makes a file of rows in order, each a row of the last column with those that own it: keys and auxiliary
// values of all columns, one after the other.
type rowWriter struct {
	w       *Writer
	types   []Pair
	last    []Value // the row before, if there was one
	hasLast bool
}

// Errors of rows that make no file.
var (
	errTwice    = fmt.Errorf("%w: the same keys twice", corrupt.ErrUnsupported)
	errTwoAuxes = fmt.Errorf("%w: another auxiliary value for the same key", corrupt.ErrUnsupported)
)

// put writes a row, and before it those rows of the columns before whose groups have ended.
func (s *rowWriter) put(row []Value) error {
	n := len(s.types)
	if s.hasLast {
		same, err := s.same(row)
		if err != nil {
			return err
		}
		if err := s.end(same); err != nil {
			return err
		}
	}
	if s.last == nil {
		s.last = make([]Value, 2*n)
	}
	for i, v := range row {
		s.last[i] = v.clone()
	}
	s.hasLast = true
	return s.w.Write(n-1, s.last[2*n-2], s.last[2*n-1])
}

// same is the number of columns in which a row has the keys of the row before.
func (s *rowWriter) same(row []Value) (same int, err error) {
	n := len(s.types)
	for same < n && s.types[same].Key.compare(s.last[2*same], row[2*same]) == 0 {
		if same < n-1 && s.types[same].Aux.compare(s.last[2*same+1], row[2*same+1]) != 0 {
			return same, fmt.Errorf("a%d: %w", same, errTwoAuxes)
		}
		same++
	}
	if same == n {
		return same, errTwice
	}
	if s.types[same].Key.compare(s.last[2*same], row[2*same]) > 0 {
		return same, fmt.Errorf("k%d: %w: without --%s rows are sorted", same, ErrOrder, optionSorted)
	}
	return same, nil
}

// end writes the rows before of all columns from first on, but for the last column, whose rows are written.
func (s *rowWriter) end(first int) error {
	for i := len(s.types) - 2; i >= first; i-- {
		if err := s.w.Write(i, s.last[2*i], s.last[2*i+1]); err != nil {
			return err
		}
	}
	return nil
}

// close writes the rest.
func (s *rowWriter) close() error {
	if s.hasLast {
		if err := s.end(0); err != nil {
			return err
		}
	}
	return s.w.Close()
}
