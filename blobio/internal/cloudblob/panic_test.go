package cloudblob_test

import (
	"context"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
)

// careless is a driver that follows pointers which a store left out of its answer, as gocloud's do.
type careless struct{ driver.Bucket }

func (careless) NewRangeReader(context.Context, string, int64, int64, *driver.ReaderOptions) (driver.Reader, error) {
	panic("nil pointer")
}

func (careless) ListPaged(context.Context, *driver.ListOptions) (*driver.ListPage, error) {
	panic("nil pointer")
}

func (careless) Attributes(context.Context, string) (*driver.Attributes, error) { panic("nil pointer") }
func (careless) ErrorCode(error) gcerrors.ErrorCode                             { return gcerrors.Unknown }

// TestPanicsAreErrors: an answer that lacks what every store sends ends a call and not the program, and the bucket
// can be used afterwards.
func TestPanicsAreErrors(t *testing.T) {
	b := cloudblob.FromBucket("mem://gocloud/", blob.NewBucket(careless{}), cloudblob.Options{})
	for range 2 {
		_, _, errRead := b.ReadRange(t.Context(), "x", 0, make([]byte, 1), blobio.ReadOptions{})
		_, errStat := b.Stat(t.Context(), "x", blobio.ReadOptions{})
		var errList error
		for _, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
			errList = err
		}
		for call, err := range map[string]error{"read": errRead, "stat": errStat, "list": errList} {
			if blobio.Class(err) != blobio.ErrUnknown {
				t.Errorf("%s: %v, want %v", call, err, blobio.ErrUnknown)
			}
		}
	}
}
