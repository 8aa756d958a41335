package readertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// reported is what a reader states to a question: postings of a term, or the positions of a hash.
type said struct {
	Postings []struct {
		Repr      string      `json:"repr"`
		Positions []uint64    `json:"positions"`
		Ranges    [][2]uint64 `json:"ranges"`
	} `json:"postings"`
	Positions []uint64 `json:"positions"`
}

// maxSaid bounds the records that an answer may stand for: more than any stripe of the kit has.
const maxSaid = 1 << 20

// rows gives the records that an answer names. possible means that some of them need not match.
func (s *said) rows() (rows []uint64, possible bool, err error) {
	rows = slices.Clone(s.Positions)
	for _, p := range s.Postings {
		rows = append(rows, p.Positions...)
		possible = possible || p.Repr == "approximate_ranges"
		for _, r := range p.Ranges {
			if r[0] > r[1] || r[1]-r[0] > maxSaid {
				return nil, false, fmt.Errorf("a range from %d to %d", r[0], r[1])
			}
			for at := r[0]; at < r[1]; at++ {
				rows = append(rows, at)
			}
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows), possible, nil
}

// answered reports what is wrong with the answers of a reader, nothing if all are right. Approximate ranges may name records besides.
func answered(got, want []byte) string {
	lines := bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n"))
	wanted := bytes.Split(bytes.TrimSuffix(want, []byte("\n")), []byte("\n"))
	if len(lines) != len(wanted) {
		return fmt.Sprintf("%d answers to %d questions", len(lines), len(wanted))
	}
	for i := range wanted {
		var a struct {
			Rows []uint64 `json:"rows"`
		}
		var s said
		if err := json.Unmarshal(wanted[i], &a); err != nil {
			return fmt.Sprintf("the kit's answer %d: %v", i, err)
		}
		if err := json.Unmarshal(lines[i], &s); err != nil {
			return fmt.Sprintf("answer %d is not JSON: %v", i, err)
		}
		rows, possible, err := s.rows()
		if err != nil {
			return fmt.Sprintf("answer %d: %v", i, err)
		}
		for _, at := range a.Rows {
			if _, found := slices.BinarySearch(rows, at); !found {
				return fmt.Sprintf("answer %d lacks record %d", i, at)
			}
		}
		if !possible && len(rows) != len(a.Rows) {
			return fmt.Sprintf("answer %d has %d records, %d match", i, len(rows), len(a.Rows))
		}
	}
	return ""
}
