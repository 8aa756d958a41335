package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestPackOverStoresThatCopyBadly: whatever a store makes of a request to copy a range, packing ends with the rows of the
// table, or with an error before its commit.
func TestPackOverStoresThatCopyBadly(t *testing.T) {
	dir := t.TempDir()
	const rows = 170
	long := rand.NewChaCha8([32]byte{1})
	base := blobfake.NewS3(t, "")
	flags := func(s *blobfake.S3, db string) []string {
		return []string{"--catalog", "sqlite:" + db, "--warehouse", "s3://b/wh?endpoint=" + s.URL}
	}
	db := filepath.Join(dir, "c.db")
	for i := range 2 {
		var csv strings.Builder
		csv.WriteString("id,text\n")
		text := make([]byte, 51<<10)
		for k := range rows {
			_, _ = long.Read(text)
			fmt.Fprintf(&csv, "%d,%x\n", i*rows+k, text)
		}
		file := filepath.Join(dir, "in.csv")
		if err := os.WriteFile(file, []byte(csv.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := runOn(t, append(flags(base, db), "ingest", "t", file, "--create", "--profile", "plain")...); code != exitDone {
			t.Fatal(stderr)
		}
	}
	saved, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		quirks string
		copies int // requests, at most
	}{
		{"", 2}, {"equal-parts", 2}, {"partcopy=403", 1}, {"partcopy=400", 2},
		{"partcopy=norange", 2}, {"partcopy=shift", 2}, {"partcopy=ignore", 1},
	} {
		t.Run(test.quirks, func(t *testing.T) {
			s := blobfake.NewS3(t, test.quirks)
			for _, key := range base.Keys() {
				o, _ := base.Object(key)
				s.Put(key, o.Body)
			}
			_ = os.Remove(db + "-wal")
			_ = os.Remove(db + "-shm")
			if err := os.WriteFile(db, saved, 0o600); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := runOn(t, append(flags(s, db), "compact", "t", "--mode", "pack")...); code != exitDone {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if n := len(s.Requests("partcopy")); n == 0 || n > test.copies {
				t.Errorf("%d requests to copy, want 1 to %d", n, test.copies)
			}
			if n := s.Uploads(); n != 0 {
				t.Errorf("%d uploads left", n)
			}
			if code, out, stderr := runOn(t, append(flags(s, db), "verify", "t")...); code != exitDone {
				t.Errorf("verify: exit code %d: %s %s", code, out, stderr)
			}
			if _, out, stderr := runOn(t, append(flags(s, db), "scan", "t", "--count")...); strings.TrimSpace(out) != fmt.Sprint(2*rows) {
				t.Errorf("%s rows, want %d: %s", out, 2*rows, stderr)
			}
		})
	}
}

// TestStoresWithoutConditions: a store that refuses conditional creates is refused as unsafe, and the flag alone is enough to
// go on; the doctor states the same.
func TestStoresWithoutConditions(t *testing.T) {
	for _, quirks := range []string{"inm=501", "inm=400"} {
		s := blobfake.NewS3(t, quirks)
		dir := t.TempDir()
		file := filepath.Join(dir, "in.csv")
		if err := os.WriteFile(file, []byte("id,text\n1,a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := []string{"--catalog", "sqlite:" + filepath.Join(dir, "c.db"), "--warehouse", "s3://b/wh?endpoint=" + s.URL}
		for _, command := range [][]string{{"ingest", "t", file, "--create"}, {"doctor"}} {
			if code, out, stderr := runOn(t, append(flags, command...)...); code != exitUnsafe || !strings.Contains(out+stderr, "--unsafe-no-conditional-writes") {
				t.Errorf("%s: %v: exit code %d: %s %s", quirks, command, code, out, stderr)
			}
		}
		flags = append(flags, "--unsafe-no-conditional-writes")
		for _, command := range [][]string{{"doctor"}, {"ingest", "t", file, "--create"}, {"ingest", "t", file}, {"verify", "t"}} {
			if code, out, stderr := runOn(t, append(flags, command...)...); code != exitDone {
				t.Errorf("%s: %v with the flag: exit code %d: %s %s", quirks, command, code, out, stderr)
			}
		}
	}
}
