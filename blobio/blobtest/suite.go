// Package blobtest is the suite of tests that every driver of an object store passes, those of other modules as well.
package blobtest

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// Store is a store under test.
type Store struct {
	// Open opens the bucket; each call gives a handle of its own to the same objects.
	Open func(t *testing.T) blobio.Bucket
	// Prefix begins all keys that the suite uses; it must be free. Empty or ending in '/'.
	Prefix string
	// ReadOnly stores get objects by Seed and no tests of writing.
	ReadOnly bool
	// Seed puts an object into a read-only store.
	Seed func(t *testing.T, key string, data []byte)
	// Big is the size of the streamed object, 100 MiB if 0 (much less with -short).
	Big int64
	// Parts is the size of an object that takes more than one request to write, 17 MiB if 0. The suite
	// has Racers of them under way at once.
	Parts int
	// PageKeys is how many objects the test of long lists creates, 40 if 0. It should be more
	// than twice what the store lists in one request.
	PageKeys int
	// IgnoresPins is the reason why the store can't be sent a request for a pinned read, as emulators that ignore
	// conditions on reads; the test is skipped with it.
	IgnoresPins string
	// NoReadETags is the reason why reads report no ETag although Stat does.
	NoReadETags string
	// IgnoresDeletePins is the same for a delete with an ETag.
	IgnoresDeletePins string
}

// The sizes of the suite where a Store names none.
const (
	// defaultBig is large enough that a driver which gathers the object in memory stands out.
	defaultBig = 100 << 20
	// shortBig is for runs with -short, as those of the race detector; the memory is not watched then.
	shortBig = 8 << 20
	// defaultParts is more than any of the clouds' drivers sends in one request.
	defaultParts = 17 << 20
	// defaultPageKeys is small enough for a file system; clouds list 1,000 (S3, GCS) or 5,000 (Azure) keys
	// in one request.
	defaultPageKeys = 40
)

// Run runs the whole suite.
func Run(t *testing.T, store Store) {
	if store.Big == 0 {
		store.Big = defaultBig
		if testing.Short() {
			store.Big = shortBig
		}
	}
	if store.Parts == 0 {
		store.Parts = defaultParts
	}
	if store.PageKeys == 0 {
		store.PageKeys = defaultPageKeys
	}
	tests := []struct {
		name   string
		writes bool
		run    func(t *testing.T, s *suite)
	}{
		{"Ranges", false, testRanges},
		{"Suffix", false, testSuffix},
		{"Stream", false, testStream},
		{"Stat", false, testStat},
		{"Missing", false, testMissing},
		{"Pinned", false, testPinned},
		{"CancelRead", false, testCancelRead},
		{"ClosedReads", false, testClosedReads},
		{"Create", true, testCreate},
		{"CreateTwice", true, testCreateTwice},
		{"Abort", true, testAbort},
		{"CancelWrite", true, testCancelWrite},
		{"ClosedWrites", true, testClosedWrites},
		{"Race", true, testRace},
		{"Delete", true, testDelete},
		{"Keys", true, testKeys},
		{"List", true, testList},
		{"ListPages", true, testListPages},
		{"Big", true, testBig},
		{"Copy", true, testCopy},
	}
	for _, test := range tests {
		if store.ReadOnly && test.writes {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			bucket := store.Open(t)
			t.Cleanup(func() { bucket.Close() })
			test.run(t, &suite{Store: store, bucket: bucket, prefix: store.Prefix + test.name + "/"})
		})
	}
}

// suite is one test's view of the store.
type suite struct {
	Store
	bucket blobio.Bucket
	prefix string
}

// seed puts an object of n random bytes.
func (s *suite) seed(t *testing.T, name string, n int) (key string, data []byte) {
	t.Helper()
	key, data = s.prefix+name, make([]byte, n)
	rand.Read(data)
	if s.Seed != nil {
		s.Seed(t, key, data)
	} else if err := Put(context.Background(), s.bucket, key, data); err != nil {
		t.Fatal(err)
	}
	return key, data
}

// Put creates an object of data, in one request where the driver can.
func Put(ctx context.Context, b blobio.Bucket, key string, data []byte) error {
	w, err := b.Create(ctx, key, blobio.CreateOptions{SizeHint: int64(len(data))})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}
