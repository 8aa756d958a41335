package blobio_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

func TestMemoryCache(t *testing.T) {
	sp, url, _, f := faulty(t, "", blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20}})
	for range 3 {
		dst := make([]byte, 100)
		info, err := sp.ReadRange(t.Context(), url, 50, dst)
		if err != nil || !bytes.Equal(dst, object[50:150]) || info.Size != 1000 || info.URL != url {
			t.Fatalf("%+v, %v", info, err)
		}
		clear(dst) // must not reach the cache
		tail, info, err := sp.ReadSuffix(t.Context(), url, 10)
		if err != nil || !bytes.Equal(tail, object[990:]) || info.Size != 1000 {
			t.Fatalf("%q, %+v, %v", tail, info, err)
		}
		clear(tail)
	}
	if c := sp.Counters(); c.Gets != 2 || c.CacheHits != 4 || c.Depth != 2 {
		t.Errorf("%+v, want 2 GETs and 4 hits", c)
	}
	if _, err := sp.Uncached().ReadRange(t.Context(), url, 50, make([]byte, 100)); err != nil || f.Requests("get") != 3 {
		t.Errorf("an uncached read made no request: %v", err)
	}
	_, err := sp.IfMatch("other").ReadRange(t.Context(), url, 50, make([]byte, 100))
	wantClass(t, err, blobio.ErrChanged)
}

func TestCacheableDecides(t *testing.T) {
	sp, url, _, f := faulty(t, "", blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20,
		Cacheable: func(u string) bool { return filepath.Ext(u) == ".shard" }}})
	for range 2 {
		if _, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if f.Requests("get") != 2 {
		t.Error("what is not cacheable was cached")
	}
}

// TestScanLeavesTheMemoryCacheAlone: what is used again stays, however much is read once.
func TestScanLeavesTheMemoryCacheAlone(t *testing.T) {
	sp, url, mem, f := faulty(t, "", blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 64 << 10}})
	mem.Replace("scan", make([]byte, 1<<20))
	hot := func() {
		for off := range int64(20) {
			if _, err := sp.ReadRange(t.Context(), url, off*10, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	hot()
	hot()
	for off := int64(0); off < 1<<20; off += 4 << 10 { // 16 times as much as the cache holds
		if _, err := sp.ReadRange(t.Context(), "mem://faulty/scan", off, make([]byte, 4<<10)); err != nil {
			t.Fatal(err)
		}
	}
	before := f.Requests("get")
	hot()
	if n := f.Requests("get") - before; n != 0 {
		t.Errorf("after a scan, %d of 20 hot ranges had to be read again", n)
	}
}

func TestDiskCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	read := func(t *testing.T) (sp *blobio.Client) {
		sp, url, _, _ := faulty(t, "", blobio.ClientOptions{Cache: blobio.CacheOptions{Dir: dir}})
		for off := range int64(10) {
			dst := make([]byte, 100)
			info, err := sp.ReadRange(t.Context(), url, off*100, dst)
			if err != nil || !bytes.Equal(dst, object[off*100:off*100+100]) || info.Size != 1000 || info.Key != "x" {
				t.Fatalf("%+v, %v", info, err)
			}
		}
		if tail, info, err := sp.ReadSuffix(t.Context(), url, 10); err != nil || !bytes.Equal(tail, object[990:]) || info.Size != 1000 {
			t.Fatalf("%q, %v", tail, err)
		}
		return sp
	}
	if c := read(t).Counters(); c.Gets != 11 || c.CacheHits != 0 {
		t.Errorf("first run: %+v", c)
	}
	if c := read(t).Counters(); c.Gets != 0 || c.CacheHits != 11 || c.Depth != 0 {
		t.Errorf("second run: %+v, want hits alone", c)
	}

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 11 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	damages := []func(b []byte) []byte{
		func(b []byte) []byte { b[0] ^= 1; return b },
		func(b []byte) []byte { b[10] ^= 1; return b },
		func(b []byte) []byte { b[17] ^= 1; return b },
		func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return b[:len(b)/2] },
		func(b []byte) []byte { return b[:5] },
		func(b []byte) []byte { return nil },
		func(b []byte) []byte { return make([]byte, len(b)) },
		func(b []byte) []byte { return append(b, 0) },
	}
	for i, damage := range damages {
		b, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[i], damage(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c := read(t).Counters(); c.Gets != 11 || c.CacheHits != 0 {
		t.Errorf("with every file damaged: %+v, want no hit", c)
	}
	// One entry under the name of another: sound, but not what was requested.
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := read(t).Counters(); c.Gets != 1 || c.CacheHits != 10 {
		t.Errorf("with one file in the place of another: %+v", c)
	}
}

// TestWholeObjectsOnDisk: objects that are read whole come from the folder too, for every Client that shares it, within each one's limit.
func TestWholeObjectsOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	whole := func(sp *blobio.Client, url string, limit int64) {
		t.Helper()
		b, info, err := sp.ReadAll(t.Context(), url, limit)
		if err != nil || !bytes.Equal(b, object) || info.Size != 1000 || info.URL != url || info.Key != "x" {
			t.Fatalf("%d bytes, %+v, %v", len(b), info, err)
		}
		clear(b) // must not reach the cache
	}
	options := blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20, Dir: dir}}
	first, url, _, _ := faulty(t, "", options)
	whole(first, url, 1000)
	whole(first, url, 1000)
	if c := first.Counters(); c.Gets != 1 || c.CacheHits != 1 || c.Depth != 1 {
		t.Errorf("first run: %+v", c)
	}
	if _, _, err := first.ReadAll(t.Context(), url, 999); blobio.Class(err) != blobio.ErrRange {
		t.Errorf("more than the limit: %v", err)
	}
	second, url, _, _ := faulty(t, "", options)
	whole(second, url, 1000)
	if c := second.Counters(); c.Gets != 0 || c.CacheHits != 1 || c.Depth != 0 {
		t.Errorf("second run: %+v", c)
	}
	other, url, _, f := faulty(t, "", blobio.ClientOptions{CacheOf: second})
	whole(other, url, 1000)
	if c := other.Counters(); c.Gets != 0 || c.CacheHits != 1 || f.Requests("get") != 0 {
		t.Errorf("a Client that shares the cache: %+v", c)
	}
	if c := second.Counters(); c.CacheHits != 1 {
		t.Errorf("hits of another Client were counted: %+v", c)
	}
	whole(second.Uncached(), url, 1000)
	if c := second.Counters(); c.Gets != 1 {
		t.Errorf("uncached: %+v", c)
	}
	_, _, err := second.IfMatch("other").ReadAll(t.Context(), url, 1000)
	wantClass(t, err, blobio.ErrChanged)

	files, err := filepath.Glob(filepath.Join(dir, "*.range"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	third, url, _, _ := faulty(t, "", options)
	whole(third, url, 1000)
	if c := third.Counters(); c.Gets != 1 || c.CacheHits != 0 {
		t.Errorf("with a damaged file: %+v", c)
	}
}

func TestDiskCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	const most = 64 << 10
	sp, _, mem, _ := faulty(t, "", blobio.ClientOptions{Cache: blobio.CacheOptions{Dir: dir, Disk: most}})
	mem.Replace("big", make([]byte, 1<<20))
	for off := int64(0); off < 1<<20; off += 4 << 10 {
		if _, err := sp.ReadRange(t.Context(), "mem://faulty/big", off, make([]byte, 4<<10)); err != nil {
			t.Fatal(err)
		}
	}
	var bytes int64
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += st.Size()
	}
	if bytes > most || bytes < most/2 {
		t.Errorf("the folder holds %d bytes, want nearly %d", bytes, most)
	}
	before := sp.Counters().Gets
	if _, err := sp.ReadRange(t.Context(), "mem://faulty/big", 1<<20-4<<10, make([]byte, 4<<10)); err != nil || sp.Counters().Gets != before {
		t.Errorf("what was read last is not there: %v", err)
	}
}

func TestDiskCacheInAPlaceThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sp, url, _, _ := faulty(t, "", blobio.ClientOptions{Cache: blobio.CacheOptions{Dir: filepath.Join(file, "x")}})
	_, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 1))
	wantClass(t, err, blobio.ErrDenied)
}

// TestSingleFlight: many readers of one range make one request; one that gives up does not take it from the
// others.
func TestSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, _ := slow(t, blobfake.Cloud, 1000, blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20}})
		shortLived, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { // the first caller
			_, err := sp.ReadRange(shortLived, url, 0, make([]byte, 100))
			wantClass(t, err, blobio.ErrCanceled)
		})
		synctest.Wait()
		for range 23 {
			all.Go(func() {
				if _, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 100)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if c := sp.Counters(); c.Gets != 1 || c.Depth != 1 {
			t.Errorf("%+v, want 1 GET", c)
		}
	})
}

func TestAbandonedFlightEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, _, _ := faulty(t, "get 1: stall 10h", blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := sp.ReadRange(ctx, url, 0, make([]byte, 100))
		wantClass(t, err, blobio.ErrCanceled)
		if _, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 100)); err != nil {
			t.Errorf("after an abandoned read: %v", err)
		}
	})
}

func TestFailedReadIsNotCached(t *testing.T) {
	sp, url, _, _ := faulty(t, "get 1: fail denied", blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20, Dir: t.TempDir()}})
	_, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 100))
	wantClass(t, err, blobio.ErrDenied)
	dst := make([]byte, 100)
	if _, err := sp.ReadRange(t.Context(), url, 0, dst); err != nil || !bytes.Equal(dst, object[:100]) {
		t.Error(err)
	}
}

func ExampleClient_Counters() {
	sp := blobio.NewClient(blobio.ClientOptions{})
	fmt.Println(sp.Counters().Gets)
	// Output: 0
}
