package catalog

import (
	"context"
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
		// The answer may have been lost after the work was done.
		if there, loadErr := c.Load(context.WithoutCancel(ctx), to); loadErr == nil && there.UUID() == t.UUID() {
			return there, nil
		}
		return nil, fmt.Errorf("table %s as %s: %w", from, to, translate(err))
	}
	return c.Load(ctx, to)
}
