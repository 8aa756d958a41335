package rowkey

import (
	"fmt"
	"testing"
)

// TestManyKeys: lists of keys that don't fit into memory are looked up batch by batch.
func TestManyKeys(t *testing.T) {
	var l List
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	const n = 300_000
	for i := range int64(n) {
		if err := l.Add([]byte(fmt.Sprintf("key %09d", i)), i*3); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Finish(); err != nil {
		t.Fatal(err)
	}
	if len(l.Batches) < 3 {
		t.Fatalf("%d batches", len(l.Batches))
	}
	at := int64(0)
	for i := range l.Batches {
		s, err := l.Load(&l.Batches[i])
		if err != nil || string(s.Keys[0]) != string(l.Batches[i].Low) || string(s.Keys[len(s.Keys)-1]) != string(l.Batches[i].High) {
			t.Fatal(i, err)
		}
		for k, key := range s.Keys {
			if string(key) != fmt.Sprintf("key %09d", at) || s.Rows[k] != at*3 || s.Find(key) != k {
				t.Fatalf("key %d is %q, of row %d", at, key, s.Rows[k])
			}
			at++
		}
		if s.Find([]byte("key")) >= 0 || s.Find([]byte("l")) >= 0 {
			t.Error("a key that is not there")
		}
	}
	if at != n {
		t.Errorf("%d keys", at)
	}
}
