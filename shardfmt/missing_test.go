package shardfmt

import (
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestMissingArguments: what is nil is named, and no panic.
func TestMissingArguments(t *testing.T) {
	ctx := context.Background()
	const url = "mem://missing/x.amudai.shard"
	for name, call := range map[string]func() error{
		"open without a store":  func() error { _, err := Open(ctx, nil, url, OpenOptions{}); return err },
		"open by a nil client":  func() error { _, err := Open(ctx, (*blobio.Client)(nil), url, OpenOptions{}); return err },
		"open without a reader": func() error { _, err := OpenReaderAt(ctx, nil, 1, OpenOptions{}); return err },
		"write without a store": func() error { _, err := NewWriter(ctx, nil, url, &schema.Schema{}, WriterOptions{}); return err },
		"write by a nil client": func() error {
			_, err := NewWriter(ctx, (*blobio.Client)(nil), url, &schema.Schema{}, WriterOptions{})
			return err
		},
		"write without a schema": func() error {
			client := blobio.NewClient(blobio.ClientOptions{})
			defer client.Close()
			_, err := NewWriter(ctx, client, url, nil, WriterOptions{})
			return err
		},
	} {
		if err := call(); !errors.Is(err, ErrMissing) {
			t.Fatalf("%v: %v, want %v", name, err, ErrMissing)
		}
	}
}
