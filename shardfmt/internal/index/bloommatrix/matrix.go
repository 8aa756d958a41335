package bloommatrix

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/bloom"
)

const (
	magic      = "amtermf1"
	headerSize = 32
	sumSize    = 8
	// MaxColumns of a matrix: a row of 8 KiB at most.
	MaxColumns = 256
	// MaxBytes of a matrix, which is made and joined in memory.
	MaxBytes = 32 << 20
)

// Matrix is the shape of a matrix, and the number that distinguishes it from others.
type Matrix struct {
	ID            uint64
	Rows, Columns int
}

// Valid reports whether there may be a matrix of that shape.
func (m Matrix) Valid() bool {
	return m.Rows >= 1 && m.Rows <= maxRows && m.Rows&(m.Rows-1) == 0 && m.Columns >= 1 && m.Columns <= MaxColumns && m.Size() <= MaxBytes
}

// NewID is a number that no other matrix has.
func NewID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// Size of the matrix in bytes.
func (m Matrix) Size() int64 { return headerSize + int64(m.Rows)*int64(m.stride()) }

func (m Matrix) stride() int { return m.Columns*bloom.BlockSize + sumSize }

// Row is the number of the row of a hash.
func (m Matrix) Row(h uint64) int { return bloom.Block(h, m.Rows) }

// RowRange is where a row lies in the matrix: [start, end).
func (m Matrix) RowRange(row int) (start, end int64) {
	start = headerSize + int64(row)*int64(m.stride())
	return start, start + int64(m.stride())
}

// Blocks are the blocks of a row by its bytes, a column's behind the other's; nil if they are not those of this row of this matrix.
func (m Matrix) Blocks(row int, data []byte) []byte {
	if len(data) != m.stride() {
		return nil
	}
	blocks, sum := data[:len(data)-sumSize], data[len(data)-sumSize:]
	if xxh3.HashSeed(blocks, m.ID+uint64(row)) != binary.LittleEndian.Uint64(sum) {
		return nil
	}
	return blocks
}

// Block is the block of a column in a row's blocks.
func Block(blocks []byte, column int) []byte {
	return blocks[column*bloom.BlockSize:][:bloom.BlockSize]
}

// Fits reports whether the column fits into a matrix of some others.
func (c Column) Fits(columns []Column) bool {
	m := shapeOf(append(columns[:len(columns):len(columns)], c))
	return m.Columns <= MaxColumns && m.Size() <= MaxBytes
}

func shapeOf(columns []Column) (m Matrix) {
	m.Rows, m.Columns = 1, len(columns)
	for _, c := range columns {
		m.Rows = max(m.Rows, c.rows())
	}
	return m
}

// Join lays columns side by side, under a number that no other matrix has.
func Join(id uint64, columns []Column) (Matrix, []byte) {
	m := shapeOf(columns)
	m.ID = id
	out := make([]byte, 0, m.Size())
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint64(out, id)
	out = binary.LittleEndian.AppendUint32(out, uint32(m.Rows))
	out = binary.LittleEndian.AppendUint32(out, uint32(m.Columns))
	out = binary.LittleEndian.AppendUint64(out, xxh3.Hash(out))
	for row := range m.Rows {
		at := len(out)
		for _, c := range columns {
			out = append(out, c.wide(row, m.Rows)...)
		}
		out = binary.LittleEndian.AppendUint64(out, xxh3.HashSeed(out[at:], id+uint64(row)))
	}
	return m, out
}

// Check holds all bytes of a matrix to what they ought to be.
func (m Matrix) Check(data []byte) error {
	_, err := m.Split(data)
	return err
}

// Split gives the columns of a matrix by its bytes, each as narrow as can be.
func (m Matrix) Split(data []byte) ([]Column, error) {
	if !m.Valid() || int64(len(data)) != m.Size() {
		return nil, corrupt.At(0, "a term filter of %d rows and %d columns in %d bytes", m.Rows, m.Columns, len(data))
	}
	if string(data[:8]) != magic || xxh3.Hash(data[:24]) != binary.LittleEndian.Uint64(data[24:]) ||
		binary.LittleEndian.Uint64(data[8:]) != m.ID || binary.LittleEndian.Uint32(data[16:]) != uint32(m.Rows) || binary.LittleEndian.Uint32(data[20:]) != uint32(m.Columns) {
		return nil, corrupt.At(0, "the header of a term filter does not match its reference")
	}
	columns := make([]Column, m.Columns)
	for i := range columns {
		columns[i] = make(Column, 0, m.Rows*bloom.BlockSize)
	}
	for row := range m.Rows {
		start, end := m.RowRange(row)
		blocks := m.Blocks(row, data[start:end])
		if blocks == nil {
			return nil, corrupt.At(start, "row %d of a term filter: checksum mismatch", row)
		}
		for i := range columns {
			columns[i] = append(columns[i], Block(blocks, i)...)
		}
	}
	for i := range columns {
		columns[i] = columns[i].narrow()
	}
	return columns, nil
}

// narrow undoes what widening did: it halves the rows as long as each is there twice.
func (c Column) narrow() Column {
	for n := c.rows(); n > 1; n /= 2 {
		for row := 0; row < n; row += 2 {
			if string(c.block(row)) != string(c.block(row+1)) {
				return c
			}
		}
		for row := 0; row < n; row += 2 {
			copy(c.block(row/2), c.block(row))
		}
		c = c[: len(c)/2 : len(c)/2]
	}
	return c
}
