package parquetcolumn

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

// Run decodes runs of pages of one column chunk that are given to it, each into an array of its own. What it needs is charged to an account.
// Not for concurrent use.
type Run struct {
	reader
	to             arrow.DataType
	mem            *charged
	n, done, nulls int
}

// NewRun gives a decoder of pages into arrays of a type, or nil if values of the leaf are not decoded into that type.
func NewRun(leaf parquetcodec.Leaf, depth Depth, to arrow.DataType, account *budget.Account) *Run {
	mem := &charged{account: account}
	v := valuesOf(leaf, to, mem)
	if v == nil {
		return nil
	}
	return &Run{reader: reader{leaf: leaf, depth: depth, values: v, take: mem.take}, to: to, mem: mem}
}

// Dictionary takes the dictionary page, which must stay as it is.
func (r *Run) Dictionary(p *parquetcodec.Page) error { return r.dictionary(p) }

// Hold charges bytes of the dictionary page, until Release.
func (r *Run) Hold(n uint64) error { return r.mem.hold(n) }

// Release lets go of the dictionary, and gives back what it holds of the account.
func (r *Run) Release() {
	r.values, r.coding = valuesOf(r.leaf, r.to, r.mem), false
	r.mem.account.Drop(r.mem.held)
	r.mem.held = 0
}

// Begin begins an array of n positions.
func (r *Run) Begin(n int) error {
	const numbers = 4 // bytes of a code
	if err := r.mem.take(uint64(n)*numbers + uint64(n)/8); err != nil {
		return err
	}
	r.numbers, r.marks, r.valid = nil, nil, nil
	r.n, r.done, r.nulls = n, 0, 0
	return r.reset(n, true)
}

// Add adds the positions of a data page.
func (r *Run) Add(p *parquetcodec.Page) error {
	if r.depth.Def > 0 {
		if err := r.mem.take(4 * uint64(p.Values)); err != nil { // levels
			return err
		}
	}
	if err := r.begin(p); err != nil {
		return err
	}
	if r.left > r.n-r.done {
		return errPositions
	}
	k := r.left
	nulls, err := r.read(k, r.done)
	r.done, r.nulls = r.done+k, r.nulls+nulls
	return err
}

var errPositions = errors.New("other positions in the pages than there should be")

// Array gives the array when all pages were added.
func (r *Run) Array() (arrow.Array, error) {
	if r.done != r.n {
		return nil, errPositions
	}
	return r.array(r.nulls, true)
}
