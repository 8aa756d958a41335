package hashindex

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"iter"

	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

const (
	// DefaultMemory is how many bytes a Pairs holds before they go to temporary files.
	DefaultMemory = 32 << 20
	// pairsOfPartition is how many pairs a partition has, about, as long as there are no more than 2^mostBits partitions and hashes are many. It
	// holds a quarter of the memory in pairs at most, and sorts the others in files.
	pairsOfPartition = 2 << 20
	// mostBits of a hash choose the partition.
	mostBits = 8
)

// Pairs collects the hashes and positions of the stripes of a shard, and writes one index of all. What does not fit in memory goes to
// temporary files. Not for concurrent use.
type Pairs struct {
	sorter *extsort.Sorter
	memory int
	count  int
}

// NewPairs makes Pairs that hold memory bytes, DefaultMemory if 0.
func NewPairs(memory int) *Pairs {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Pairs{sorter: extsort.New(memory), memory: memory}
}

// Add notes that the record at a position has a key with a hash.
func (p *Pairs) Add(hash, position uint64) error {
	var key [16]byte
	binary.BigEndian.PutUint64(key[:], hash)
	binary.BigEndian.PutUint64(key[8:], position)
	p.count++
	return p.sorter.Add(key[:], nil)
}

// AddAll takes the pairs of b, of a stripe whose first record is number first of the shard.
func (p *Pairs) AddAll(b *Builder, first uint64) error {
	for _, x := range b.pairs {
		if err := p.Add(x.hash, first+x.position); err != nil {
			return err
		}
	}
	return nil
}

// bits is how many bits of a hash choose the partition of so many pairs.
func (p *Pairs) bits() int {
	n := 0
	for p.count>>n > pairsOfPartition && n < mostBits {
		n++
	}
	return n
}

// Write writes the index, as Builder.Write does. The pairs are used up.
func (p *Pairs) Write(ctx context.Context, to shardwriter.IndexTarget, typ string) (*metapb.IndexDescriptor, []Object, error) {
	defer p.Close()
	next, stop := iter.Pull2(p.sorter.Sorted())
	defer stop()
	in := &pairReader{next: next}
	bits := p.bits()
	return writePartitions(ctx, to, typ, bits, func(part int, url string) (*indexshard.Written, error) {
		b := &sorted{memory: p.memory}
		defer b.close()
		if err := in.upTo(func(x pair) bool { return partitionOf(x.hash, bits) <= part }, b.add); err != nil {
			return nil, err
		}
		return writePartition(ctx, to.Store, url, partitionPairs{b.distinct, b.byBucket}, int64(p.memory))
	})
}

// pairReader reads sorted pairs, each once.
type pairReader struct {
	next  func() (extsort.Record, error, bool)
	ahead *pair
}

// upTo gives the pairs as long as they are wanted.
func (r *pairReader) upTo(wanted func(pair) bool, do func(pair) error) error {
	var last *pair
	for {
		if r.ahead == nil {
			x, err, more := r.next()
			if err != nil || !more {
				return err
			}
			r.ahead = &pair{binary.BigEndian.Uint64(x.Key), binary.BigEndian.Uint64(x.Key[8:])}
		}
		if !wanted(*r.ahead) {
			return nil
		}
		if last == nil || *last != *r.ahead {
			if err := do(*r.ahead); err != nil {
				return err
			}
		}
		last, r.ahead = r.ahead, nil
	}
}

// sorted is the pairs of a partition, which come by hash and position: as many as memory holds, and the others on a tape. They leave by
// bucket.
type sorted struct {
	memory   int
	distinct int
	last     uint64
	held     []pair
	tape     *colstream.Tape
	rest     int // pairs on the tape
	spill    *colstream.Spill
	sorter   *extsort.Sorter
}

// tapeBytes are gathered before they go to the file.
const tapeBytes = 256 << 10

func (s *sorted) add(x pair) error {
	if s.distinct == 0 || x.hash != s.last {
		s.distinct++
	}
	s.last = x.hash
	if s.tape == nil && len(s.held) < min(pairsOfPartition, s.memory/64) {
		s.held = append(s.held, x)
		return nil
	}
	if s.tape == nil {
		s.spill = colstream.NewSpill(tapeBytes)
		s.tape = colstream.NewTape(s.spill)
	}
	s.rest++
	_, err := s.tape.Write(x.key())
	return err
}

// key is the bytes of a pair that sort as it does.
func (x pair) key() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, x.hash), x.position)
}

// byBucket gives the pairs by the bucket they are in, of so many.
func (s *sorted) byBucket(buckets uint64) iter.Seq2[pair, error] {
	if s.tape == nil {
		return byBucket(s.held)(buckets)
	}
	return func(yield func(pair, error) bool) {
		if err := s.sort(buckets); err != nil {
			yield(pair{}, err)
			return
		}
		for r, err := range s.sorter.Sorted() {
			var x pair
			if err == nil {
				x = pair{binary.BigEndian.Uint64(r.Key[8:]), binary.BigEndian.Uint64(r.Key[16:])}
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// sort sorts the pairs by bucket, hash and position.
func (s *sorted) sort(buckets uint64) error {
	s.sorter = extsort.New(s.memory / 2)
	var key [24]byte
	add := func(x pair) error {
		binary.BigEndian.PutUint64(key[:], x.hash&(buckets-1))
		binary.BigEndian.PutUint64(key[8:], x.hash)
		binary.BigEndian.PutUint64(key[16:], x.position)
		return s.sorter.Add(key[:], nil)
	}
	for _, x := range s.held {
		if err := add(x); err != nil {
			return err
		}
	}
	s.held = nil
	r := bufio.NewReaderSize(s.tape.Reader(), 64<<10)
	var b [16]byte
	for range s.rest {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return err
		}
		if err := add(pair{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}); err != nil {
			return err
		}
	}
	return nil
}

// close lets go of temporary files.
func (s *sorted) close() {
	_ = s.spill.Close() // of files that nobody will read
	if s.sorter != nil {
		_ = s.sorter.Close()
	}
}

// Close lets go of what was added, and of temporary files.
func (p *Pairs) Close() error { return p.sorter.Close() }
