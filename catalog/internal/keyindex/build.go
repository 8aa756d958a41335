package keyindex

import (
	"bytes"
	"iter"

	"github.com/shardcat/shardcat/internal/extsort"
)

// Builder gathers rows in any order.
type Builder struct {
	sorter *extsort.Sorter
	row    []byte
}

// buildMemory is how many bytes of rows are held before they go to temporary files.
const buildMemory = 32 << 20

// NewBuilder makes one that holds 32 MiB of rows.
func NewBuilder() *Builder { return &Builder{sorter: extsort.New(buildMemory)} }

// Add adds the key of a record.
func (b *Builder) Add(key []byte, r Row) error {
	b.row = appendRow(b.row[:0], key, r)
	return b.sorter.Add(b.row, nil)
}

// Close removes temporary files.
func (b *Builder) Close() error { return b.sorter.Close() }

// Sorted gives the rows in order, once; each is valid until the next one.
func (b *Builder) Sorted() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for r, err := range b.sorter.Sorted() {
			if !yield(r.Key, err) || err != nil {
				return
			}
		}
	}
}

// Merge gives the rows of sorted sources in order, without those of stripes that are not kept and, of equal rows, all but one. It holds a row of
// each source.
func Merge(sources []iter.Seq2[[]byte, error], kept func(unit uint32) bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var heads []*head
		defer func() {
			for _, h := range heads {
				h.stop()
			}
		}()
		for _, s := range sources {
			h := &head{}
			h.next, h.stop = iter.Pull2(s)
			heads = append(heads, h)
			if err := h.advance(); err != nil {
				yield(nil, err)
				return
			}
		}
		var before []byte
		for {
			var least *head
			for _, h := range heads {
				if h.valid && (least == nil || bytes.Compare(h.row, least.row) < 0) {
					least = h
				}
			}
			if least == nil {
				return
			}
			place, _ := placeOf(least.row)
			if kept(place.Unit) && (before == nil || !bytes.Equal(before, least.row)) {
				before = append(before[:0], least.row...)
				if !yield(before, nil) {
					return
				}
			}
			if err := least.advance(); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// head is a source at one of its rows.
type head struct {
	next  func() ([]byte, error, bool)
	stop  func()
	row   []byte
	valid bool
}

func (h *head) advance() (err error) {
	h.row, err, h.valid = h.next()
	return err
}

// Missing counts the rows of want that have lacks, both sorted, and gives the first of them.
func Missing(have, want iter.Seq2[[]byte, error]) (n int, first Row, err error) {
	next, stop := iter.Pull2(have)
	defer stop()
	h := &head{next: next, stop: stop}
	if err := h.advance(); err != nil {
		return 0, first, err
	}
	for row, err := range want {
		if err != nil {
			return n, first, err
		}
		for h.valid && bytes.Compare(h.row, row) < 0 {
			if err := h.advance(); err != nil {
				return n, first, err
			}
		}
		if h.valid && bytes.Equal(h.row, row) {
			continue
		}
		if n++; n == 1 {
			first, _ = placeOf(row)
		}
	}
	return n, first, nil
}
