package rowkey

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sort"
)

// List is the different keys of a delivery, sorted, in batches of which one is in memory at a time: where there are several, they are in
// a temporary file.
type List struct {
	file    *os.File
	Batches []Batch
	last    Set // while it is made
	size    int
	end     int64 // of the file
}

// Batch is a part of a list. at is where it lies in the file, bytes how long it is.
type Batch struct {
	Low, High []byte
	at, bytes int64
	count     int
}

// Set is sorted keys, and for each the row of the delivery that it is of.
type Set struct {
	Keys [][]byte
	Rows []int64
}

// batchBytes and perKey bound a batch in memory: four megabytes of keys, or as many small ones.
const (
	batchBytes = 4 << 20
	perKey     = 32
)

// Add adds the next key.
func (l *List) Add(key []byte, row int64) error {
	l.last.Keys, l.last.Rows = append(l.last.Keys, bytes.Clone(key)), append(l.last.Rows, row)
	if l.size += len(key) + perKey; l.size < batchBytes {
		return nil
	}
	return l.spill()
}

// spill writes the current batch.
func (l *List) spill() (err error) {
	if l.file == nil {
		if l.file, err = os.CreateTemp("", "shardcat-keys-*"); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(l.file)
	b := l.last.batch()
	b.at = l.end
	var head []byte
	for i, key := range l.last.Keys {
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(l.last.Rows[i])), uint64(len(key)))
		b.bytes += int64(len(head) + len(key))
		if _, err := w.Write(head); err != nil {
			return err
		}
		if _, err := w.Write(key); err != nil {
			return err
		}
	}
	l.end += b.bytes
	l.Batches, l.last, l.size = append(l.Batches, b), Set{}, 0
	return w.Flush()
}

// batch describes a set that is not empty.
func (s *Set) batch() Batch {
	return Batch{Low: s.Keys[0], High: s.Keys[len(s.Keys)-1], count: len(s.Keys)}
}

// Finish ends the list. One that is a single batch stays in memory.
func (l *List) Finish() error {
	if len(l.last.Keys) == 0 {
		return nil
	}
	if l.file != nil {
		return l.spill()
	}
	l.Batches = []Batch{l.last.batch()}
	return nil
}

// Load gives the keys of a batch.
func (l *List) Load(b *Batch) (*Set, error) {
	if l.file == nil {
		return &l.last, nil
	}
	data := make([]byte, b.bytes)
	if _, err := l.file.ReadAt(data, b.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	s := &Set{Keys: make([][]byte, 0, b.count), Rows: make([]int64, 0, b.count)}
	for len(data) > 0 {
		row, n := binary.Uvarint(data)
		size, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 || size > uint64(len(data)-n-m) {
			return nil, errors.New("a temporary file of keys was changed")
		}
		key := data[n+m:][:size:size]
		s.Keys, s.Rows = append(s.Keys, key), append(s.Rows, int64(row))
		data = data[n+m+int(size):]
	}
	return s, nil
}

// Close removes the temporary file.
func (l *List) Close() error {
	if l.file == nil {
		return nil
	}
	return errors.Join(l.file.Close(), os.Remove(l.file.Name()))
}

// Find gives the place of a key, -1 if it is none of the set.
func (s *Set) Find(key []byte) int {
	i := sort.Search(len(s.Keys), func(i int) bool { return bytes.Compare(s.Keys[i], key) >= 0 })
	if i < len(s.Keys) && bytes.Equal(s.Keys[i], key) {
		return i
	}
	return -1
}

// Within are the keys whose first part lies between two, nil being no bound.
func (s *Set) Within(low, high []byte) [][]byte {
	keys := s.Keys
	if low != nil {
		keys = keys[sort.Search(len(keys), func(i int) bool { return bytes.Compare(keys[i], low) >= 0 }):]
	}
	if high != nil {
		keys = keys[:sort.Search(len(keys), func(i int) bool {
			return bytes.Compare(keys[i], high) > 0 && !bytes.HasPrefix(keys[i], high)
		})]
	}
	return keys
}
