package check

import (
	"context"
	"errors"
	"sync"

	"github.com/shardcat/shardcat/blobio"
)

// Sizes remembers the sizes of objects that several shards share; -1 is missing.
type Sizes struct {
	mu    sync.Mutex
	known map[string]int64
}

// NewSizes begins without objects.
func NewSizes() *Sizes { return &Sizes{known: map[string]int64{}} }

// Of is the size of an object, -1 if it is missing.
func (s *Sizes) Of(ctx context.Context, client *blobio.Client, url string) (int64, error) {
	s.mu.Lock()
	size, ok := s.known[url]
	s.mu.Unlock()
	if ok {
		return size, nil
	}
	info, err := client.Stat(ctx, url)
	switch {
	case errors.Is(err, blobio.ErrNotFound):
		info.Size = -1
	case err != nil:
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[url] = info.Size
	return info.Size, nil
}
