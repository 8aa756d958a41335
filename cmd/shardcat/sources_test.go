package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestSourcesInTheWarehousesBucket: a folder, a pattern and an object there need no options of their own; other ones are refused.
func TestSourcesInTheWarehousesBucket(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"} {
		t.Setenv(name, value)
	}
	s := blobfake.NewS3(t, "")
	for i, key := range []string{"landing/2024-01-31/a.csv", "landing/2024-01-31/b.csv", "landing/c.csv"} {
		s.Put(key, fmt.Appendf(nil, "id\n%d\n", i))
	}
	for _, test := range []struct {
		source string
		rows   string
	}{
		{"s3://b/landing/2024-01-31/", "2"}, // as the command's own example has it
		{"s3://b/landing/", "3"},
		{"s3://b/landing/2024-01-31/*.csv", "2"},
		{"s3://b/landing/*/a.csv", "1"},
		{"s3://b/landing/c.csv", "1"},
		{"s3a://b/landing/c.csv", "1"},
		{"s3://b/landing/c.csv?endpoint=" + s.URL, "1"},
		{"s3://b/landing/?endpoint=" + s.URL, "3"},
		{"s3://b/landing/?endpoint=http://127.0.0.1:1", ""},
	} {
		at := []string{"--catalog", "sqlite:" + filepath.Join(t.TempDir(), "c.db"), "--warehouse", "s3://b/tables?endpoint=" + s.URL}
		code, _, stderr := runOn(t, append(at, "ingest", "t", test.source, "--create")...)
		if test.rows == "" {
			if code == exitDone || !strings.Contains(stderr, "other options") {
				t.Errorf("%s: exit code %d, want a refusal: %s", test.source, code, stderr)
			}
			continue
		}
		if _, out, _ := runOn(t, append(at, "scan", "t", "--count")...); code != exitDone || strings.TrimSpace(out) != test.rows {
			t.Errorf("%s: exit code %d, %q rows, want %s: %s", test.source, code, out, test.rows, stderr)
		}
	}
}
