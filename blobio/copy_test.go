package blobio_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// remote is a bucket that blobio takes for a store far away. The answer of a commit is lost if lose is set.
type remote struct {
	blobio.Bucket
	lose bool
}

func (r *remote) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	w, err := r.Bucket.Create(ctx, key, o)
	if err != nil || !r.lose {
		return w, err
	}
	return &losing{w.(copying)}, nil
}

type copying interface {
	blobio.Writer
	blobio.RangeCopier
}

type losing struct{ copying }

func (l *losing) Close() error {
	return errors.Join(l.copying.Close(), blobio.NewError("create", "mem://", blobio.ErrTransient, errors.New("the answer was lost")))
}

// Ranges are copied through all that a Client puts around a bucket, of the same store alone, and nothing of them is fetched. Whether an object of such is there
// is not guessed after a lost answer.
func TestCopyRangeThroughAClient(t *testing.T) {
	ctx, c := t.Context(), blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	here := &remote{Bucket: memblob.New()}
	for name, b := range map[string]blobio.Bucket{"here": here, "there": &remote{Bucket: memblob.New()}} {
		if err := c.MountBucket("s3://"+name+"/", b); err != nil {
			t.Fatal(err)
		}
		if err := c.Put(ctx, "s3://"+name+"/source", []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	create := func(url string) (blobio.Writer, blobio.RangeCopier) {
		w, err := c.Create(ctx, url, blobio.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("mine ")); err != nil {
			t.Fatal(err)
		}
		copier := w.(blobio.RangeCopier)
		if n := copier.CopyAfter(); n != 0 {
			t.Fatalf("a range can be copied after %d bytes", n)
		}
		return w, copier
	}
	start := c.Counters()
	w, copier := create("s3://here/a")
	if err := copier.CopyRange("s3://there/source", 0, 4, ""); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another store: %v", err)
	}
	if err := copier.CopyRange("s3://here/nothing", 0, 4, ""); !errors.Is(err, blobio.ErrNotFound) {
		t.Error(err)
	}
	err := copier.CopyRange("s3://here/source", 3, 4, "")
	if _, also := w.Write([]byte(" mine")); err != nil || also != nil {
		t.Fatal(err, also)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if used := c.Counters().Sub(start); used.Gets != 0 || used.PutBytes != 10 {
		t.Errorf("%+v", used)
	}
	if got, _, err := c.ReadAll(ctx, "s3://here/a", 100); err != nil || !bytes.Equal(got, []byte("mine 3456 mine")) {
		t.Errorf("%q, %v", got, err)
	}

	here.lose = true
	w, copier = create("s3://here/b")
	if err := errors.Join(copier.CopyRange("s3://here/source", 0, 4, ""), w.Close()); !errors.Is(err, blobio.ErrTransient) {
		t.Errorf("%v", err)
	}
	c.ReadBackWrites()
	w, err = c.Create(ctx, "s3://here/c", blobio.CreateOptions{})
	if err != nil || w.(blobio.RangeCopier).CopyAfter() >= 0 {
		t.Errorf("what is to be read back can't be copied: %v", err)
	}
	w.Abort()
}
