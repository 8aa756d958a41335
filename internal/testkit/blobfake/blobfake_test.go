package blobfake_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestWrappersAreBuckets: without a script and without latency the wrappers change nothing.
func TestWrappersAreBuckets(t *testing.T) {
	t.Run("Faulty", func(t *testing.T) {
		blobtest.Run(t, blobtest.Store{Big: 1 << 20, Parts: 1 << 18, Open: func(t *testing.T) blobio.Bucket {
			return blobfake.NewFaulty(t, memblob.Open("faulty"), "")
		}})
	})
	t.Run("Slow", func(t *testing.T) {
		blobtest.Run(t, blobtest.Store{Big: 1 << 20, Parts: 1 << 18, Open: func(t *testing.T) blobio.Bucket {
			return blobfake.NewSlow(memblob.Open("slow"), blobfake.Latency{})
		}})
	})
}

func put(t *testing.T, b blobio.Bucket, key, data string) error {
	t.Helper()
	w, err := b.Create(t.Context(), key, blobio.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, data); err != nil {
		return err
	}
	return w.Close()
}

func TestScript(t *testing.T) {
	mem := memblob.New()
	mem.Replace("a", []byte("0123456789"))
	mem.Replace("b", []byte("x"))
	read := func(b blobio.Bucket) (string, error) {
		dst := make([]byte, 10)
		_, _, err := b.ReadRange(t.Context(), "a", 0, dst, blobio.ReadOptions{})
		return string(dst), err
	}
	for _, test := range []struct {
		script string
		data   string // of the second read
		class  error
	}{
		{"get 2: fail throttled after 3s", "", blobio.ErrThrottled},
		{"any 2: fail denied # the same", "", blobio.ErrDenied},
		{"get 2-: lost transient", "", blobio.ErrTransient},
		{"get *: hide", "", blobio.ErrNotFound},
		{"get 2: flip 3", "0122456789", nil},
		{"get 2: flip -1", "0123456788", nil},
		{"get 2: cut 4", "", blobio.ErrTransient},
		{"get 1: fail denied\nget 3-4: fail denied\nput *: fail denied", "0123456789", nil},
		{"get~b *: fail denied", "0123456789", nil},
	} {
		f := blobfake.NewFaulty(t, mem, test.script)
		_, _ = read(f)
		data, err := read(f)
		if blobio.Class(err) != test.class || err == nil && data != test.data {
			t.Errorf("%s: %q, %v", test.script, data, err)
		}
	}
}

func TestWritesGoWrongByScript(t *testing.T) {
	mem := memblob.New()
	f := blobfake.NewFaulty(t, mem, "put 1: fail transient\nput 2: lost unknown\nput 3: twice\ndelete 1: lost transient\nlist 1: hide")
	for _, want := range []error{blobio.ErrTransient, blobio.ErrUnknown, blobio.ErrExists} {
		key := fmt.Sprint("k", f.Requests("put")+1)
		if err := put(t, f, key, "data"); blobio.Class(err) != want {
			t.Errorf("%s: %v, want %v", key, err, want)
		}
	}
	var keys []string
	for range 2 {
		for info, err := range f.List(t.Context(), "", blobio.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, info.Key)
		}
	}
	if got := strings.Join(keys, " "); got != "k2 k2 k3" {
		t.Errorf("listed %q: the first write must not be there, the first list must hide the last key", got)
	}
	if err := f.Delete(t.Context(), "k2", blobio.DeleteOptions{}); !errors.Is(err, blobio.ErrTransient) {
		t.Errorf("delete: %v", err)
	}
	if err := f.Delete(t.Context(), "k2", blobio.DeleteOptions{}); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("the delete whose answer was lost did nothing: %v", err)
	}
}

func TestWalkEndsAfterTheLastRequest(t *testing.T) {
	faults := 0
	steps := blobfake.Walk(t,
		func(n int) string { return fmt.Sprintf("any %d: fail transient", n) },
		func(t *testing.T) blobio.Bucket { return memblob.New() },
		func(t *testing.T, n int, b *blobfake.Faulty) {
			for i := range 3 {
				if err := put(t, b, fmt.Sprint(i), "x"); err != nil {
					faults++
				}
			}
		})
	if steps != 3 || faults != 3 {
		t.Errorf("%d steps and %d faults, want 3 of each", steps, faults)
	}
}

func TestSlowTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memblob.New()
		mem.Replace("a", bytes.Repeat([]byte("x"), 50<<20))
		slow := blobfake.NewSlow(mem, blobfake.Cloud)
		begin := time.Now()
		if _, _, err := slow.ReadRange(t.Context(), "a", 0, make([]byte, 25<<20), blobio.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 530*time.Millisecond {
			t.Errorf("25 MiB took %v, want 30 ms and half a second", took)
		}
	})
}
