package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
)

// Every object of a table is created on the condition that nothing is there; who writes to a store that overwrites
// instead may lose what another has written. So the first writer to a table's folder, who makes the record of its
// owner, tries the store once; the record keeps what was found, and later writers go by it.

// checkConditional reports whether the vault's store creates conditionally. A store that does not is ErrUnsafe, unless
// the options accept it.
func (c *Catalog) checkConditional(ctx context.Context) (conditional bool, err error) {
	if isLocal(c.vault) {
		return true, nil
	}
	conditional, err = c.probeConditional(ctx)
	if err != nil {
		return false, fmt.Errorf("testing conditional creation in %s: %w", c.vault, err)
	}
	return conditional, c.acceptConditional(conditional)
}

// acceptConditional holds what is known of the store against the options.
func (c *Catalog) acceptConditional(conditional bool) error {
	if conditional || c.opts.UnsafeNoConditionalWrites {
		return nil
	}
	return fmt.Errorf("%w: the store of %s does not support conditional creation: concurrent writers would overwrite each other;"+
		"--unsafe-no-conditional-writes allows it if there is a single writer", ErrUnsafe, c.vault)
}

// probeConditional creates an object twice, the second time in one request and in parts, and deletes it.
func (c *Catalog) probeConditional(ctx context.Context) (bool, error) {
	url := c.vault + "/_doctor/" + uuid.NewString()
	if err := c.client.TryCreate(ctx, url, []byte("first"), blobio.CreateOptions{}); err != nil {
		return false, err
	}
	conditional, err := c.refusesSecond(ctx, url, blobio.CreateOptions{})
	if conditional {
		// Some stores look at the condition of a whole object only, and overwrite by the end of an upload in parts.
		conditional, err = c.refusesSecond(ctx, url, blobio.CreateOptions{InParts: true})
		if err != nil && !errors.Is(err, blobio.ErrNoCondition) && (errors.Is(err, blobio.ErrUnknown) || errors.Is(err, blobio.ErrDenied)) {
			c.opts.Log.Debug("the store does not support multipart uploads", "vault", c.vault, "error", err)
			conditional, err = true, nil
		}
	}
	if err != nil {
		return false, err
	}
	if err := c.client.Delete(context.WithoutCancel(ctx), url, ""); err != nil {
		c.opts.Log.Warn("a test object could not be deleted", "object", url, "error", err)
	}
	return conditional, nil
}

// refusesSecond reports whether the store refuses to create an object that is there.
func (c *Catalog) refusesSecond(ctx context.Context, url string, how blobio.CreateOptions) (bool, error) {
	err := c.client.TryCreate(ctx, url, []byte("second"), how)
	if errors.Is(err, blobio.ErrExists) || errors.Is(err, blobio.ErrConflict) {
		return true, nil
	}
	return false, err
}

// checksChecksums reports whether the vault's store is known to refuse an upload that arrives damaged. What can't be
// found out counts as no.
func (c *Catalog) checksChecksums(ctx context.Context) bool {
	if isLocal(c.vault) {
		return true
	}
	url := c.vault + "/_doctor/" + uuid.NewString()
	checked, known, err := c.client.ProbeChecksum(ctx, url)
	if err != nil {
		c.opts.Log.Debug("it is unknown whether the store verifies checksums", "vault", c.vault, "error", err)
	}
	if known && !checked {
		if err := c.client.Delete(context.WithoutCancel(ctx), url, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			c.opts.Log.Warn("a test object could not be deleted", "object", url, "error", err)
		}
	}
	return checked && err == nil
}

// distrust has every write read back that the store does not check.
func (c *Catalog) distrust(unchecked bool) {
	if unchecked {
		c.client.ReadBackWrites()
	}
}
