package catalog

import (
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
)

// A panic in a call that the client made beside others ends that call with an error, not the process.
func TestPanicOfOneBranch(t *testing.T) {
	c := newGround(t).open(nil, nil)
	broken := func(context.Context, *blobio.Client, int) error { panic("broken") }
	for _, err := range []error{c.Client().EachUpTo(t.Context(), 2, 2, broken), c.Client().Each(t.Context(), 2, broken)} {
		if p := (*parallel.Panic)(nil); !errors.As(err, &p) {
			t.Error(err)
		}
	}
}
