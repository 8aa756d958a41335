package meta

import (
	"context"
	"errors"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
)

// What a root reads lies in memory that roots before have used, and is given back by Close: a root of ten thousand fields is three
// quarters of a megabyte, and new memory for it costs several times what reading and checking it does.

// take gives memory for n bytes that are kept until Close.
func (r *Root) take(n int) []byte {
	b := bufpool.Again(n)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lent = append(r.lent, b)
	return b
}

// Close gives back the memory of what was read. Nothing else of the root is used while it runs, and nothing of it that is not a decoded
// message afterwards: what has to be read then fails with blobio.ErrClosed. A root that is not closed is left to the collector of garbage.
func (r *Root) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	lent := r.lent
	r.closed, r.lent = true, nil
	r.tail, r.ahead, r.rows, r.columns = nil, nil, nil, nil
	r.schemaBytes.forget()
	r.propertyBytes.forget()
	r.view.forget()
	r.fields.forget()
	if s := r.stripes.value; s != nil {
		for i := range s.fields {
			s.fields[i].forget()
		}
	}
	for _, b := range lent {
		bufpool.GiveBack(b)
	}
}

// isClosed is the error of who reads after Close.
func (r *Root) isClosed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		return nil
	}
	return blobio.NewError("read", r.url, blobio.ErrClosed, errors.New("the shard was closed"))
}

// intoStore is a store that reads ranges into memory which take gives; a *blobio.Client is one.
type intoStore interface {
	ReadRangesInto(ctx context.Context, url string, ranges []blobio.Range, take func(n int) []byte) ([][]byte, error)
}

// inTurn gives the view of a store that makes its requests one after the other, where they cost less than it does to wake who makes them beside one another.
func inTurn(ctx context.Context, st Store, url string) Store {
	if c, ok := st.(*blobio.Client); ok && c.Nearby(ctx, url) {
		return c.InTurn()
	}
	return st
}
