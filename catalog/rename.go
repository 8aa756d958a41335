package catalog

import (
	"context"
	"errors"
	"fmt"
)

// Rename gives a table another name. Its files stay where they are; who writes to it under the old name meanwhile finds
// it gone, and nothing is lost.
func (c *Catalog) Rename(ctx context.Context, from, to Name) (*Table, error) {
	t, err := c.Load(ctx, from)
	if err != nil {
		return nil, err
	}
	if _, err := c.ice.RenameTable(ctx, from.identifier(), to.identifier()); err != nil {
		// The answer may have been lost after the work was done; and not every catalog says of a name that it is taken.
		err = translate(err)
		switch there, loadErr := c.Load(context.WithoutCancel(ctx), to); {
		case loadErr == nil && there.UUID() == t.UUID():
			c.recordName(context.WithoutCancel(ctx), there)
			return there, nil
		case loadErr == nil && !errors.Is(err, ErrExists):
			err = fmt.Errorf("%w: %w", ErrExists, err)
		}
		return nil, fmt.Errorf("table %s as %s: %w", from, to, err)
	}
	there, err := c.Load(ctx, to)
	if err == nil {
		c.recordName(context.WithoutCancel(ctx), there)
	}
	return there, err
}
