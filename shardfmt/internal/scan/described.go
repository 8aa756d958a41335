package scan

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// described is the metadata of one stripe: each descriptor is decoded once, the caller. Safe for concurrent use.
type described struct {
	*meta.Root // whose footers are those of the stripe, too
	mu         sync.Mutex
	known      map[uint32]descriptor
}

// descriptor is that of a field, and the object it was read from.
type descriptor struct {
	of  *metapb.StripeFieldDescriptor
	url string
}

// StripeField implements column.Source, of the stripe's fields only.
func (d *described) StripeField(ctx context.Context, stripe int, id uint32) (*metapb.StripeFieldDescriptor, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, ok := d.known[id]; ok {
		return f.of, f.url, nil
	}
	of, url, err := d.Root.SharedStripeField(ctx, stripe, id)
	if err != nil {
		return nil, "", err
	}
	if d.known == nil {
		d.known = make(map[uint32]descriptor)
	}
	d.known[id] = descriptor{of, url}
	return of, url, nil
}
