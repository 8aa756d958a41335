package catalog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sort"
)

// keyList is the different keys of a delivery, sorted, in batches of which one is in memory at a time: where there are several, they are in
// a temporary file.
type keyList struct {
	file    *os.File
	batches []keyBatch
	last    keySet // while it is made
	size    int
	end     int64 // of the file
}

// keyBatch is a part of a list. at is where it lies in the file, bytes how long it is.
type keyBatch struct {
	low, high []byte
	at, bytes int64
	count     int
}

// keySet is sorted keys, and for each the row of the delivery that it is of.
type keySet struct {
	keys [][]byte
	rows []int64
}

// batchBytes and perKey bound a batch in memory: four megabytes of keys, or as many small ones.
const (
	batchBytes = 4 << 20
	perKey     = 32
)

// add adds the next key.
func (l *keyList) add(key []byte, row int64) error {
	l.last.keys, l.last.rows = append(l.last.keys, bytes.Clone(key)), append(l.last.rows, row)
	if l.size += len(key) + perKey; l.size < batchBytes {
		return nil
	}
	return l.spill()
}

// spill writes the batch available.
func (l *keyList) spill() (err error) {
	if l.file == nil {
		if l.file, err = os.CreateTemp("", "shardcat-keys-*"); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(l.file)
	b := l.last.batch()
	b.at = l.end
	var head []byte
	for i, key := range l.last.keys {
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(l.last.rows[i])), uint64(len(key)))
		b.bytes += int64(len(head) + len(key))
		if _, err := w.Write(head); err != nil {
			return err
		}
		if _, err := w.Write(key); err != nil {
			return err
		}
	}
	l.end += b.bytes
	l.batches, l.last, l.size = append(l.batches, b), keySet{}, 0
	return w.Flush()
}

// batch describes a set that is not empty.
func (s *keySet) batch() keyBatch {
	return keyBatch{low: s.keys[0], high: s.keys[len(s.keys)-1], count: len(s.keys)}
}

// finish ends the list. One that is a single batch stays in memory.
func (l *keyList) finish() error {
	if len(l.last.keys) == 0 {
		return nil
	}
	if l.file != nil {
		return l.spill()
	}
	l.batches = []keyBatch{l.last.batch()}
	return nil
}

// load gives the keys of a batch.
func (l *keyList) load(b *keyBatch) (*keySet, error) {
	if l.file == nil {
		return &l.last, nil
	}
	data := make([]byte, b.bytes)
	if _, err := l.file.ReadAt(data, b.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	s := &keySet{keys: make([][]byte, 0, b.count), rows: make([]int64, 0, b.count)}
	for len(data) > 0 {
		row, n := binary.Uvarint(data)
		size, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 || size > uint64(len(data)-n-m) {
			return nil, errors.New("a temporary file of keys was changed")
		}
		key := data[n+m:][:size:size]
		s.keys, s.rows = append(s.keys, key), append(s.rows, int64(row))
		data = data[n+m+int(size):]
	}
	return s, nil
}

// close removes the temporary file.
func (l *keyList) close() error {
	if l.file == nil {
		return nil
	}
	return errors.Join(l.file.Close(), os.Remove(l.file.Name()))
}

// find gives the place of a key, -1 if it is none of the set.
func (s *keySet) find(key []byte) int {
	i := sort.Search(len(s.keys), func(i int) bool { return bytes.Compare(s.keys[i], key) >= 0 })
	if i < len(s.keys) && bytes.Equal(s.keys[i], key) {
		return i
	}
	return -1
}

// within are the keys whose first part lies between two, nil being no bound.
func (s *keySet) within(low, high []byte) [][]byte {
	keys := s.keys
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
