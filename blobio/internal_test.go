package blobio

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"
)

// FuzzDiskFile: whatever a file of the cache holds, it is read as what was requested or not at all.
func FuzzDiskFile(f *testing.F) {
	key := cacheKey{"s3://bucket/x", 10, 4}
	good := appendDiskFile(nil, key, cached{Info{Key: "x", Size: 100, ETag: `"1"`, ModTime: time.Unix(1, 0).UTC()}, []byte("data")})
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(good[:20])
	f.Add(appendDiskFile(nil, cacheKey{"s3://bucket/x", suffixOf, 10}, cached{Info{Size: 3}, []byte("abc")}))
	f.Add([]byte(diskMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseDiskFile(b, key)
		if err != nil {
			return
		}
		if int64(len(v.data)) != key.n {
			t.Fatalf("%d bytes for a range of %d", len(v.data), key.n)
		}
		again, err := parseDiskFile(appendDiskFile(nil, key, v), key)
		if err != nil || !bytes.Equal(again.data, v.data) || !again.info.ModTime.Equal(v.info.ModTime) {
			t.Fatalf("does not survive being written again: %v", err)
		}
	})
}

// FuzzCoalesce: each range lies in exactly one span; spans are in order, don't overlap, and join nothing that is
// too far apart or too long.
func FuzzCoalesce(f *testing.F) {
	f.Add([]byte{0, 10, 10, 20, 40, 50, 5, 5}, int64(5), int64(30))
	f.Add([]byte{0, 255, 3, 4, 200, 210}, int64(0), int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, gap, request int64) {
		gap, request = max(0, gap), max(1, request)
		var ranges []Range
		for pair := range slices.Chunk(raw, 2) {
			if len(pair) == 2 {
				ranges = append(ranges, Range{int64(min(pair[0], pair[1])), int64(max(pair[0], pair[1]))})
			}
		}
		seen, end := map[int]bool{}, int64(-1)
		for _, s := range coalesce(ranges, gap, request) {
			if s.Start < end || s.Len() <= 0 {
				t.Fatalf("span %v after %d", s.Range, end)
			}
			end = s.End
			checkSpan(t, s, ranges, gap, request, seen)
		}
		for i, r := range ranges {
			if seen[i] != (r.Len() > 0) {
				t.Fatalf("range %v is in a span: %v", r, seen[i])
			}
		}
	})
}

func checkSpan(t *testing.T, s *span, ranges []Range, gap, request int64, seen map[int]bool) {
	at := s.Start
	for _, i := range s.ranges {
		r := ranges[i]
		if seen[i] || r.Start < s.Start || r.End > s.End {
			t.Fatalf("range %v in span %v, seen %v", r, s.Range, seen[i])
		}
		seen[i] = true
		if r.Start-at > gap {
			t.Fatalf("a gap of %d before %v", r.Start-at, r)
		}
		at = max(at, r.End)
	}
	if at != s.End {
		t.Fatalf("the span %v ends behind its ranges", s.Range)
	}
	checkLong(t, s, ranges, request)
}

// checkLong: a span is longer than a request only by ranges that overlap, not by those that lie side by side.
func checkLong(t *testing.T, s *span, ranges []Range, request int64) {
	at := s.Start
	for _, i := range s.ranges {
		if r := ranges[i]; r.Start >= at && at > s.Start && r.End-s.Start > request {
			t.Fatalf("%v joins %v side by side beyond %d bytes", s.Range, r, request)
		}
		at = max(at, ranges[i].End)
	}
}

// TestMountedAfterClose: a bucket that is looked for while the Client is closed is ErrClosed, never nil.
func TestMountedAfterClose(t *testing.T) {
	c := NewClient(ClientOptions{})
	m, _, err := c.find(t.Context(), "mem://beside/x")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.mounted("mem://beside/"); got != m || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	c.Close()
	if got, err := c.mounted("mem://beside/"); got != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("%v, %v", got, err)
	}
}
