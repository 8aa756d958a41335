// Package index opens the indexes of shards and asks them, for programs that look into an index or plan over many shards.
// A scan uses indexes by itself; see package shardfmt.
package index

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/bloommatrix"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Text is an open text index: the terms of columns and the rows that have them.
type Text = textindex.Index

// Posting is what a text index has of one term.
type Posting = textindex.Posting

// PositionSet are the rows of one column of one stripe.
type PositionSet = textindex.PositionSet

// Hash is an open hash index: the hashes of values and the rows that have them.
type Hash = hashindex.Index

// Layer is an open layer index: sorted keys and the rows that have them.
type Layer = layerindex.Index

// Keys is a range of keys of a layer index, both ends included.
type Keys = layerindex.Keys

// Combine unites the postings of entries of a text index; more than 64 Mi rows are refused.
func Combine(entries []textindex.Entry) (textindex.Answer, error) { return textindex.Combine(entries) }

// Descriptor describes an index of a shard, and opens it; shardfmt.Shard.Indexes lists them.
type Descriptor = stripeindex.Descriptor

// ParseDescriptor decodes the descriptor of an index that is stored by itself.
func ParseDescriptor(b []byte) (Descriptor, error) { return stripeindex.ParseDescriptor(b) }

// Store reads ranges of objects by their canonical URL, as shardfmt.Store does; a *blobio.Client is one.
type Store interface {
	ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error)
	ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error)
	ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error)
}

// TermFilter is the Bloom filter of the terms of columns in one stripe, a column of a Matrix.
type TermFilter = stripeindex.Filter

// TermField is a column of the table whose terms a TermFilter holds.
type TermField = stripeindex.FilterField

// Prune asks term filters which units, each a stripe by its filters, may have rows for which f is true. All reads are made
// at once. A filter that is damaged or unreadable rules nothing out; the only error is that of a context that ended.
func Prune(ctx context.Context, st Store, f *filter.Bound, units [][]*TermFilter) (may []bool, err error) {
	return stripeindex.Sift(ctx, st, f, units)
}

// PruneKeys asks term filters of hashes which keys units may have: may[unit][key]. A key is a value for each of the columns.
// A filter that is damaged or unreadable rules nothing out; the only error is that of a context that ended.
func PruneKeys(ctx context.Context, st Store, columns []*schema.Node, keys [][]filter.Value, units [][]*TermFilter) (may [][]bool, err error) {
	return stripeindex.SiftKeys(ctx, st, columns, keys, units)
}

// Matrix reports where Bloom filters of one size lie side by side, so that one short read covers all of them.
type Matrix = bloommatrix.Matrix

// TermColumn is one Bloom filter of a Matrix.
type TermColumn = bloommatrix.Column

// JoinMatrix lays columns side by side in a matrix with a number of its own, and gives its bytes.
func JoinMatrix(columns []TermColumn) (Matrix, []byte) {
	return bloommatrix.Join(bloommatrix.NewID(), columns)
}

// Tokenizer cuts text into terms.
type Tokenizer = tokenizer.Tokenizer
