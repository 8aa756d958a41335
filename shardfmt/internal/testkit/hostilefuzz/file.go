package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// checkFile inspects and verifies the changed file at path, if its format has a package of its own; read is what reading
// it as records ended with. What verify calls whole must have been read.
func (v *verdict) checkFile(path string, read error) {
	if p := (*parallel.Panic)(nil); errors.As(read, &p) {
		v.fault(faultPanic, "%v\n%s", p, p.Stack)
	}
	for _, f := range fileio.Files {
		if !f.Named(path) {
			continue
		}
		whole := false
		_ = v.guarded(f.Name, func() (err error) {
			whole, err = wholeFile(f, path)
			return err
		})
		if whole && read != nil && known(read) {
			v.fault(faultUnread, "%v", read)
		}
	}
}

// wholeFile inspects a file in all detail and reports whether it verifies.
func wholeFile(f *fileformat.Format, path string) (bool, error) {
	ctx := context.Background()
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	file, err := f.Open(ctx, c, "file://"+path, fileformat.OpenOptions{Settings: settingsOf(filepath.Base(path))})
	if err != nil {
		return false, err
	}
	defer file.Close()
	x, err := file.Inspect(ctx, 3)
	if err != nil {
		return false, err
	}
	x.Print(io.Discard)
	r, err := file.Verify(ctx, fileformat.VerifyOptions{})
	return err == nil && r.OK, err
}
