// Package records writes and reads the records in a table's vault folder: of owner, jobs, leases, drops and collections. A record is a JSON object with a
// version. Objects are created and never overwritten; a record that changes has numbered versions.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
)

const (
	// Version is that of all records.
	Version = 1
	// Limit bounds what is read of a record.
	Limit = 16 << 20
)

// Client writes and reads records, named by their URLs.
type Client struct{ client *blobio.Client }

// New returns a client of records that makes its requests by another one, or by a view of it.
func New(client *blobio.Client) Client { return Client{client} }

// Put writes a record that others go by, and reads it back: it states whose a folder is, what may not be deleted,
// or what may.
func (c Client) Put(ctx context.Context, at string, record any) error {
	text, err := Encode(record)
	if err != nil {
		return err
	}
	return c.client.PutReadBack(ctx, at, text)
}

// PutNote writes a record without which nothing is lost: the end of a job or of a lease.
func (c Client) PutNote(ctx context.Context, at string, record any) error {
	text, err := Encode(record)
	if err != nil {
		return err
	}
	return c.client.Put(ctx, at, text)
}

// ReplaceNote writes a record in the place of an older one, which is better lost than kept where the new one can't be
// written.
func (c Client) ReplaceNote(ctx context.Context, at string, record any) error {
	err := c.PutNote(ctx, at, record)
	if !errors.Is(err, blobio.ErrExists) {
		return err
	}
	if err := c.client.Delete(ctx, at, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
		return err
	}
	return c.PutNote(ctx, at, record)
}

// Encode returns the bytes of a record.
func Encode(record any) ([]byte, error) {
	text, err := json.MarshalIndent(record, "", "  ")
	return append(text, '\n'), err
}

// Read reads a record; one of a later version is refused, for what it states may matter.
func (c Client) Read(ctx context.Context, at string, record any) error {
	text, _, err := c.client.ReadAll(ctx, at, Limit)
	if err != nil {
		return err
	}
	var version struct{ Version int }
	if err := json.Unmarshal(text, &version); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if version.Version > Version {
		return fmt.Errorf("%w: %s is of version %d, this program supports %d", caterr.ErrUnsafe, at, version.Version, Version)
	}
	if err := json.Unmarshal(text, record); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}
