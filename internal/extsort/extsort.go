// Package extsort sorts more records than memory holds: runs are sorted in memory, spilled to temporary files, and
// merged. Records with equal keys keep their order.
package extsort

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

// DefaultMemory is how many bytes of records are held before a run is spilled.
const DefaultMemory = 64 << 20

// maxRuns is how many files are merged at once: 128 buffers of 64 KiB are 8 MiB.
const (
	maxRuns   = 128
	runBuffer = 64 << 10
	// perRecord is what a record takes beside its bytes.
	perRecord = 48
)

// Record is a key, by whose bytes records are ordered, and what belongs to it.
type Record struct{ Key, Value []byte }

// Sorter takes records in any order and gives them back sorted. Not for concurrent use.
type Sorter struct {
	memory  int
	held    int
	records []Record
	runs    []*os.File
	spills  int
}

// New makes a Sorter that holds about memory bytes, DefaultMemory if 0.
func New(memory int) *Sorter {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Sorter{memory: memory}
}

// Spills is how many runs went to files so far.
func (s *Sorter) Spills() int { return s.spills }

// Held is about how many bytes are held in memory.
func (s *Sorter) Held() int { return s.held }

// Add takes a record; it keeps copies.
func (s *Sorter) Add(key, value []byte) error {
	b := make([]byte, len(key)+len(value))
	copy(b, key)
	copy(b[len(key):], value)
	s.records = append(s.records, Record{b[:len(key):len(key)], b[len(key):]})
	if s.held += len(b) + perRecord; s.held < s.memory {
		return nil
	}
	return s.spill()
}

func (s *Sorter) sort() {
	slices.SortStableFunc(s.records, func(a, b Record) int { return bytes.Compare(a.Key, b.Key) })
}

// spill writes what is held as a run.
func (s *Sorter) spill() error {
	s.sort()
	if err := s.write(inMemory(s.records)); err != nil {
		return err
	}
	s.records, s.held = s.records[:0], 0
	clear(s.records[:cap(s.records)])
	s.spills++
	if len(s.runs) < maxRuns {
		return nil
	}
	merged := s.runs
	s.runs = nil
	err := s.write(merge(merged, nil))
	return errors.Join(err, remove(merged))
}

func inMemory(records []Record) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// write makes a run of sorted records.
func (s *Sorter) write(records iter.Seq2[Record, error]) error {
	f, err := os.CreateTemp("", "shardcat-sort-*")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f)
	w := bufio.NewWriterSize(f, runBuffer)
	var head []byte
	for r, err := range records {
		if err != nil {
			return err
		}
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(r.Key))), uint64(len(r.Value)))
		for _, part := range [][]byte{head, r.Key, r.Value} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// Sorted yields all records in order, once. A record is valid until the next one.
func (s *Sorter) Sorted() iter.Seq2[Record, error] {
	s.sort()
	if len(s.runs) == 0 {
		return inMemory(s.records)
	}
	return merge(s.runs, s.records)
}

// Close removes the temporary files.
func (s *Sorter) Close() error {
	err := remove(s.runs)
	s.runs, s.records = nil, nil
	return err
}

func remove(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(errs...)
}

// run is one sorted stream of a merge, at its next record.
type run struct {
	Record
	order int // of the runs, for equal keys
	next  func() (Record, error, bool)
	stop  func()
}

// runs is a heap by key, then by order.
type runs []*run

func (h runs) Len() int { return len(h) }
func (h runs) Less(i, j int) bool {
	if c := bytes.Compare(h[i].Key, h[j].Key); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}
func (h runs) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runs) Push(x any)   { *h = append(*h, x.(*run)) }
func (h *runs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merge yields the records of files, and of memory, which are the latest, in order.
func merge(files []*os.File, records []Record) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var h runs
		defer func() {
			for _, r := range h {
				r.stop()
			}
		}()
		streams := []iter.Seq2[Record, error]{}
		for _, f := range files {
			streams = append(streams, stored(f))
		}
		for i, stream := range append(streams, inMemory(records)) {
			r := &run{order: i}
			r.next, r.stop = iter.Pull2(stream)
			h = append(h, r)
		}
		for i := 0; i < len(h); {
			more, err := h[i].advance()
			if err != nil {
				yield(Record{}, err)
				return
			}
			if more {
				i++
				continue
			}
			h = slices.Delete(h, i, i+1)
		}
		heap.Init(&h)
		for len(h) > 0 {
			if !yield(h[0].Record, nil) {
				return
			}
			more, err := h[0].advance()
			switch {
			case err != nil:
				yield(Record{}, err)
				return
			case more:
				heap.Fix(&h, 0)
			default:
				heap.Pop(&h)
			}
		}
	}
}

func (r *run) advance() (more bool, err error) {
	r.Record, err, more = r.next()
	if !more {
		r.stop()
	}
	return more, err
}

// stored reads a run.
func stored(f *os.File) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := bufio.NewReaderSize(f, runBuffer)
		var b []byte
		for {
			key, err := binary.ReadUvarint(r)
			if err == io.EOF {
				return
			}
			value := uint64(0)
			if err == nil {
				value, err = binary.ReadUvarint(r)
			}
			if err == nil {
				b = slices.Grow(b[:0], int(key+value))[:key+value]
				_, err = io.ReadFull(r, b)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(Record{b[:key], b[key:]}, nil) {
				return
			}
		}
	}
}

// AppendTerminated appends v to a key so that it sorts before all that it is the start of, whatever follows: 00 as 00 FF, then 00 00.
func AppendTerminated[T ~string | ~[]byte](key []byte, v T) []byte {
	for i := range len(v) {
		if key = append(key, v[i]); v[i] == 0 {
			key = append(key, 0xFF)
		}
	}
	return append(key, 0, 0)
}
