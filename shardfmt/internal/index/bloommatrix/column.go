package bloommatrix

import (
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/bloom"
)

const (
	// bitsPerHash, and up to twice as many where the number of rows is rounded up, let 1 in 200 to 1 in 3,000 absent terms pass.
	bitsPerHash = 12
	// maxRows bounds a column at 1 MiB: of more than 700,000 terms it lets more pass.
	maxRows = 1 << 15
)

// Column is the filter of one stripe: its blocks, one behind the other.
type Column []byte

// NewColumn makes the filter of some hashes. One may occur several times.
func NewColumn(hashes []uint64) Column {
	rows := 1
	if n := (len(hashes)*bitsPerHash + 8*bloom.BlockSize - 1) / (8 * bloom.BlockSize); n > 1 {
		rows = min(maxRows, 1<<bits.Len(uint(n-1)))
	}
	c := make(Column, rows*bloom.BlockSize)
	for _, h := range hashes {
		bloom.Insert(c.block(bloom.Block(h, rows)), h)
	}
	return c
}

func (c Column) rows() int { return len(c) / bloom.BlockSize }

func (c Column) block(row int) []byte {
	return c[row*bloom.BlockSize:][:bloom.BlockSize]
}

// wide is the block of a row in a matrix of so many rows, at least as many as the column has.
func (c Column) wide(row, rows int) []byte {
	return c.block(row / (rows / c.rows()))
}

// Has reports whether a block may hold a hash.
func Has(block []byte, h uint64) bool { return bloom.Has(block, h) }

// Has reports whether a column may hold a hash.
func (c Column) Has(h uint64) bool { return Has(c.block(bloom.Block(h, c.rows())), h) }
