package hashindex

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

const (
	// DefaultMemory is how many bytes a Pairs holds before they go to temporary files.
	DefaultMemory = 32 << 20
	// partitionPairs is how many pairs a partition has at most, about: 32 MiB while it is written.
	partitionPairs = 2 << 20
	// mostBits of a hash choose the partition.
	mostBits = 8
)

// Pairs collects the hashes and positions of the stripes of a shard, and writes one index of all. What does not fit in memory goes to
// temporary files. Not for concurrent use.
type Pairs struct {
	sorter *extsort.Sorter
	count  int
}

// NewPairs makes Pairs that hold memory bytes, DefaultMemory if 0.
func NewPairs(memory int) *Pairs {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Pairs{sorter: extsort.New(memory)}
}

// Add says that the record at a position has a key with a hash.
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
	for p.count>>n > partitionPairs && n < mostBits {
		n++
	}
	return n
}

// Write writes the index, as Builder.Write does. The pairs are used up.
func (p *Pairs) Write(ctx context.Context, st Store, root, prefix, typ string) (*metapb.IndexDescriptor, []Object, error) {
	defer p.Close()
	next, stop := iter.Pull2(p.sorter.Sorted())
	defer stop()
	var ahead *pair
	return writePartitions(ctx, st, root, prefix, typ, p.bits(), func(part int) (pairs []pair, err error) {
		for {
			if ahead == nil {
				r, err, more := next()
				if err != nil || !more {
					return pairs, err
				}
				ahead = &pair{binary.BigEndian.Uint64(r.Key), binary.BigEndian.Uint64(r.Key[8:])}
			}
			if partitionOf(ahead.hash, p.bits()) > part {
				return pairs, nil
			}
			if n := len(pairs); n == 0 || pairs[n-1] != *ahead {
				pairs = append(pairs, *ahead)
			}
			ahead = nil
		}
	})
}

// Close lets go of what was added, and of temporary files.
func (p *Pairs) Close() error { return p.sorter.Close() }
