package meta

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// fieldOf is a field, by its node number, of a stripe.
type fieldOf struct {
	stripe int
	id     uint32
}

// sharedField is a descriptor, and the object it was read from.
type sharedField struct {
	of  *metapb.StripeFieldDescriptor
	url string
}

// mostShared is how many descriptors are kept decoded, sharedBytes how large each may be: a mebibyte of them, and no Bloom filters.
const mostShared, sharedBytes = 256, 4 << 10

// SharedStripeField is StripeField for those who change nothing of what it gives: a descriptor is decoded once for all of them.
func (r *Root) SharedStripeField(ctx context.Context, i int, id uint32) (*metapb.StripeFieldDescriptor, string, error) {
	key := fieldOf{i, id}
	r.mu.Lock()
	f, ok := r.shared[key]
	r.mu.Unlock()
	if ok {
		return f.of, f.url, nil
	}
	m, url, size, err := r.stripeField(ctx, i, id)
	if err != nil || m == nil || size > sharedBytes {
		return m, url, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shared) < mostShared {
		if r.shared == nil {
			r.shared = make(map[fieldOf]sharedField)
		}
		r.shared[key] = sharedField{m, url}
	}
	return m, url, nil
}
