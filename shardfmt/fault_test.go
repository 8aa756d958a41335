package shardfmt

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// Whichever request of a writer goes wrong, and how: there is a whole shard or none, the writer knows which, and
// stripes are removed only where no root can name them.
func TestWriterFaults(t *testing.T) {
	ctx := context.Background()
	want := sampleBatch(sampleSchema(t), 0, 50)
	for _, layout := range []Layout{TwoLevel, Single} {
		for _, fault := range []string{"fail denied", "lost unknown", "fail unknown", "twice", "lost transient"} {
			for n := 1; ; n++ {
				bucket := memblob.Open(fmt.Sprintf("faults-%v-%s-%d", layout, fault, n))
				faulty := blobfake.NewFaulty(t, bucket, fmt.Sprintf("any %d: %s", n, fault))
				sp := blobio.NewClient(blobio.ClientOptions{})
				if err := sp.MountBucket("mem://faults/", faulty); err != nil {
					t.Fatal(err)
				}
				err := tryWrite(ctx, sp, WriterOptions{Layout: layout, StripeRows: 20})
				requests := faulty.Requests("any")
				clean := blobio.NewClient(blobio.ClientOptions{})
				if err := clean.MountBucket("mem://faults/", bucket); err != nil {
					t.Fatal(err)
				}
				checkOutcome(t, clean, fmt.Sprintf("%v, %s at request %d", layout, fault, n), err, func(s *Shard) {
					equalBatches(t, readAll(t, s, ScanOptions{}), want)
				})
				if requests < n {
					break
				}
			}
		}
	}
}

func tryWrite(ctx context.Context, sp *blobio.Client, o WriterOptions) error {
	s := sampleSchema(nil)
	w, err := NewWriter(ctx, sp, "mem://faults/s.amudai.shard", s, o)
	if err != nil {
		return err
	}
	if err := w.Write(ctx, sampleBatch(s, 0, 50)); err != nil {
		w.Abort(ctx)
		return err
	}
	_, err = w.Close(ctx)
	return err
}

func checkOutcome(t *testing.T, sp *blobio.Client, what string, err error, check func(*Shard)) {
	t.Helper()
	s, openErr := Open(context.Background(), sp, "mem://faults/s.amudai.shard", OpenOptions{})
	switch {
	case openErr == nil:
		check(s)
	case !errors.Is(openErr, blobio.ErrNotFound):
		t.Errorf("%s: a root that can't be read: %v", what, openErr)
	case err == nil:
		t.Errorf("%s: written, but there is no root", what)
	case len(list(t, sp, "mem://faults/")) > 0 && !undecided(err):
		t.Errorf("%s: %v, and left behind %v", what, err, list(t, sp, "mem://faults/"))
	}
}

// undecided reports whether an error leaves open whether the object was written.
func undecided(err error) bool {
	return errors.Is(err, blobio.ErrUnknown) || errors.Is(err, blobio.ErrTransient) || errors.Is(err, blobio.ErrCanceled)
}
