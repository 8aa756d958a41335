package hashindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/shardcat/shardcat/urlresolve"
)

// Lacks compares an index with one that was made of the values of the same records, and describes the first
// record that it lacks of a hash, "" if none. Each is read once; what does not fit in memory goes to temporary files.
func Lacks(ctx context.Context, stored, made Part, p urlresolve.Policy) (string, error) {
	have, want := NewPairs(0), NewPairs(0)
	defer have.Close()
	defer want.Close()
	if err := have.addPart(ctx, &stored, p); err != nil {
		return "", err
	}
	if err := want.addPart(ctx, &made, p); err != nil {
		return "", err
	}
	next, stop := iter.Pull2(have.sorter.Sorted())
	defer stop()
	var at []byte
	for w, err := range want.sorter.Sorted() {
		if err != nil {
			return "", err
		}
		for at == nil || bytes.Compare(at, w.Key) < 0 {
			r, err, more := next()
			if err != nil {
				return "", err
			}
			if !more {
				break
			}
			at = append(at[:0], r.Key...)
		}
		if !bytes.Equal(at, w.Key) {
			return fmt.Sprintf("hash %016x lacks record %d", binary.BigEndian.Uint64(w.Key), binary.BigEndian.Uint64(w.Key[8:])), nil
		}
	}
	return "", nil
}
