package fileblob

import (
	"os"
	"path/filepath"
	"testing"
)

// A file leads out of a folder by a link on the way, not by one before the folder, nor by one that leads inside.
func TestLeadsOut(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"in/sub", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"in/sub/f", "in/f", "out/f"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/away": "out", "in/sub/away": "out/f", "in/near": "in/sub", "by": "in"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	b := Open(dir).(*bucket)
	for key, want := range map[string]bool{
		"in/f": false, "in/sub/f": false, "in/near/f": false, "in/away/f": true, "in/sub/away": true, "out/f": true, "by/f": false, "in/none": false, "in": false,
	} {
		if got := b.LeadsOut(key, []string{"in/"}); got != want {
			t.Errorf("%s: %v", key, got)
		}
	}
	if b.LeadsOut("by/f", []string{"by/"}) || !b.LeadsOut("by/away/f", []string{"by/"}) || b.LeadsOut("out/f", []string{"in/", "out/"}) {
		t.Error("of a folder that is a link, or of two folders")
	}
}
