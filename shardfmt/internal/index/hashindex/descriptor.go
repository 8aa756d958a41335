package hashindex

import (
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// The types of hash indexes in descriptors: keys made of fields and values, and keys that only their maker knows.
const (
	Type    = "field-hashing-index"
	RawType = "hashmap-index"
)

// maxPartitions bounds the artifacts of an index: the reference makes up to 1024.
const maxPartitions = 1 << 16

// Parse checks the descriptor of a hash index and reports how many bits of a hash choose the partition.
func Parse(d *metapb.IndexDescriptor) (partitionBits int, err error) {
	if t := d.GetIndexType(); t != Type && t != RawType {
		return 0, corrupt.Unsupported(-1, "index type %q: %s and %s are read", t, Type, RawType)
	}
	if err := meta.NoReferences(d.Properties); err != nil {
		return 0, err
	}
	n := len(d.Artifacts)
	if n == 0 || n&(n-1) != 0 || n > maxPartitions {
		return 0, corrupt.At(-1, "a hash index of %d partitions, which is not a power of two up to %d", n, maxPartitions)
	}
	for i, a := range d.Artifacts {
		if a.GetDataRef().GetUrl() == "" {
			return 0, corrupt.At(-1, "partition %d of a hash index has no object", i)
		}
	}
	return bits.TrailingZeros(uint(n)), nil
}
