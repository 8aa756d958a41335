package layerindex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/urlresolve"
)

// Lacks compares an index with one that was made of the values of the same records, and describes the first
// record that it lacks of a key, "" if none. Each is read once, from start to end.
func Lacks(ctx context.Context, stored, made Part, p urlresolve.Policy) (string, error) {
	have, err := openCursor(ctx, &stored, p, leastAhead)
	if err != nil {
		return "", err
	}
	want, err := openCursor(ctx, &made, p, leastAhead)
	if err != nil {
		return "", err
	}
	if have.x.form != want.x.form || have.x.encoded != want.x.encoded || have.x.keyBytes != want.x.keyBytes {
		return "", corrupt.Locate(corrupt.At(-1, "keys are of another type than the values"), have.x.url, 0)
	}
	next, stop := iter.Pull2(have.records(ctx))
	defer stop()
	var key []byte
	position, begun := uint64(0), false
	for w, err := range want.records(ctx) {
		if err != nil {
			return "", err
		}
		row := binary.BigEndian.Uint64(w.Value)
		for !begun || cmp.Or(bytes.Compare(key, w.Key), cmp.Compare(position, row)) < 0 {
			r, err, more := next()
			if err != nil {
				return "", err
			}
			if !more {
				return fmt.Sprintf("the key %x lacks record %d", w.Key, row), nil
			}
			key, position, begun = append(key[:0], r.Key...), binary.BigEndian.Uint64(r.Value), true
		}
		if !bytes.Equal(key, w.Key) || position != row {
			return fmt.Sprintf("the key %x lacks record %d", w.Key, row), nil
		}
	}
	return "", nil
}

// records gives the keys of a part in order, each with a position.
func (c *cursor) records(ctx context.Context) iter.Seq2[extsort.Record, error] {
	return func(yield func(extsort.Record, error) bool) {
		for {
			more, err := c.next(ctx)
			if err != nil {
				yield(extsort.Record{}, err)
			}
			if err != nil || !more || !c.each(ctx, yield) {
				return
			}
		}
	}
}
