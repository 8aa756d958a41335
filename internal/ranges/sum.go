package ranges

import "github.com/zeebo/xxh3"

// Sum compares a run of bytes with a checksum of them, XXH3-64, while they are read from front to back.
type Sum struct {
	Start, End int64
	Want       uint64

	// hash takes a kilobyte; it is there while bytes are read, and got its result afterwards.
	hash *xxh3.Hasher
	got  uint64
	// next is the offset that the hash wants next; a gap in what is read would make it useless.
	next int64
}

// NewSum makes a Sum of the bytes [start, end) of an object, of which nothing was read.
func NewSum(start, end int64, want uint64) *Sum {
	return &Sum{Start: start, End: end, Want: want, next: start}
}

// Feed takes what of data, which lies at start of the object, comes next.
func (s *Sum) Feed(start int64, data []byte) {
	from, to := max(start, s.next), min(start+int64(len(data)), s.End)
	if from >= to || from != s.next {
		return
	}
	if s.hash == nil {
		s.hash = xxh3.New()
	}
	_, _ = s.hash.Write(data[from-start : to-start]) // never fails
	if s.next = to; to == s.End {
		s.got, s.hash = s.hash.Sum64(), nil
	}
}

// Holds reports whether all bytes were read, and have the checksum.
func (s *Sum) Holds() bool {
	if s.Start == s.End {
		return s.Want == xxh3.Hash(nil)
	}
	return s.next == s.End && s.got == s.Want
}
