package catalog

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// RecoverOptions of Recover.
type RecoverOptions struct {
	// As is the table's name; by default the namespace and name of its location.
	As Name
}

// registrar is a catalog that can take over a metadata file.
type registrar interface {
	RegisterTable(ctx context.Context, ident table.Identifier, metadata string) (*table.Table, error)
}

// Recover makes a table of a metadata file: one that was dropped, or whose catalog is lost. Its snapshots, shards and
// UUID are the ones that the file names; the record of its drop is withdrawn. A name that is taken is ErrExists. The file
// may be named as other engines do: file:/x, /x.
func (c *Catalog) Recover(ctx context.Context, metadata string, o RecoverOptions) (*Table, error) {
	at, err := c.metadata.Mount(ctx, canonical(metadata))
	if err != nil {
		return nil, err
	}
	text, _, err := c.metadata.ReadAll(ctx, at, metadataLimit)
	if err != nil {
		return nil, err
	}
	meta, err := table.ParseMetadataBytes(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no Iceberg metadata file: %w", ErrInvalid, at, err)
	}
	name := o.As
	if name == (Name{}) {
		if name, err = c.nameOfLocation(meta.Location()); err != nil {
			return nil, err
		}
	}
	if err := c.CreateNamespace(ctx, name.Namespace); err != nil {
		return nil, err
	}
	if c.registrar == nil {
		return nil, fmt.Errorf("%w: the catalog can't take over metadata files", ErrInvalid)
	}
	if _, err := c.registrar.RegisterTable(ctx, name.identifier(), at); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, translate(err))
	}
	t, err := c.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := t.checkVault(); err != nil {
		return t, err
	}
	return t, t.claimVault(ctx)
}

// nameOfLocation is the name that a table of ours had: <warehouse>/<namespace>/<table>-<8 hex>.
func (c *Catalog) nameOfLocation(location string) (Name, error) {
	rest, ok := strings.CutPrefix(location, c.warehouse+"/")
	folder, base := path.Split(rest)
	if dash := strings.LastIndexByte(base, '-'); dash > 0 && len(base)-dash == 9 {
		base = base[:dash]
	}
	if !ok || folder == "" {
		return Name{}, fmt.Errorf("%w: the location %s tells no name; give one", ErrInvalid, location)
	}
	return ParseName(strings.ReplaceAll(folder, "/", ".") + base)
}
