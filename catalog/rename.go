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
	_, err = c.ice.RenameTable(ctx, from.identifier(), to.identifier())
	ctx = context.WithoutCancel(ctx)
	there, loadErr := c.Load(ctx, to)
	switch {
	case loadErr == nil && there.UUID() == t.UUID(): // whatever the answer was
		c.recordName(ctx, there)
		return there, nil
	case err == nil:
		return c.renamed(ctx, t, to, loadErr), nil
	case loadErr == nil && !errors.Is(translate(err), ErrExists): // not every catalog reports that a name is taken
		err = fmt.Errorf("%w: %w", ErrExists, translate(err))
	case loadErr == nil:
		err = translate(err)
	default: // the work may be done, also after a refusal: it may be that of a look at the table after it
		at, lookErr := c.nameOf(ctx, t.UUID())
		if at != nil && *at == to {
			return c.renamed(ctx, t, to, loadErr), nil
		}
		if err = translate(err); at == nil {
			err = fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(err, loadErr, lookErr))
		}
	}
	return nil, fmt.Errorf("table %s as %s: %w", from, to, err)
}

// renamed is a table under its new name, at the state that it had under the old one: the new one can't be loaded.
func (c *Catalog) renamed(ctx context.Context, t *Table, to Name, why error) *Table {
	if why != nil {
		c.opts.Log.Warn("the table is renamed, but can't be loaded under its new name", "table", to.String(), "error", why)
	}
	t.name = to
	c.recordName(ctx, t)
	return t
}
