package catalog

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
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
	if c.registrar == nil {
		return nil, fmt.Errorf("%w: the catalog can't take over metadata files", ErrInvalid)
	}
	if err := c.recoverable(ctx, meta, name); err != nil {
		return nil, err
	}
	if err := c.CreateNamespace(ctx, name.Namespace); err != nil {
		return nil, err
	}
	if _, err := c.registrar.RegisterTable(ctx, name.identifier(), at); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, translate(err))
	}
	if err := c.checkBegun(ctx, meta.TableUUID().String()); err != nil { // a collection began meanwhile; it sees the table or is seen
		if dropErr := c.ice.DropTable(context.WithoutCancel(ctx), name.identifier()); dropErr != nil {
			err = errors.Join(err, dropErr)
		}
		return nil, fmt.Errorf("table %s: %w", name, err)
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

// recoverable refuses what a recovery would leave half done, before anything is changed: a UUID that a table of the catalog
// has, since two tables would share one vault folder and the collection of one would delete the other's shards, and a
// vault folder of another catalog.
func (c *Catalog) recoverable(ctx context.Context, meta table.Metadata, name Name) error {
	all, err := c.registered(ctx)
	if err != nil {
		return fmt.Errorf("table %s: the tables of the catalog can't be read: %w", name, err)
	}
	uuid := meta.TableUUID().String()
	for _, other := range all {
		switch {
		case other.uuid != uuid:
		case other.name == name.String():
			return fmt.Errorf("table %s: %w, with the UUID %s", name, ErrExists, uuid)
		default:
			return fmt.Errorf("%w: table %s: table %s of this catalog has the UUID %s already; drop that name first (its files stay), or give it the name you want: shardcat table rename",
				ErrUnsafe, name, other.name, uuid)
		}
	}
	if err := c.checkBegun(ctx, uuid); err != nil {
		return fmt.Errorf("table %s: %w", name, err)
	}
	var there Owner
	err = c.readRecord(ctx, c.vaultFolder(uuid)+"_owner.json", &there)
	if errors.Is(err, blobio.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("vault of table %s: %w", name, err)
	}
	return c.checkOwned(&there, uuid)
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
