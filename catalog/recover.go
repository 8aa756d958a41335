package catalog

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// RecoverOptions of Recover.
type RecoverOptions struct {
	// As is the table's name; by default the namespace and name of its location.
	As Name
	// TakeOver makes this catalog the owner of a vault folder that another catalog owns, which is refused from then on.
	TakeOver bool
}

// registrar is a catalog that can take over a metadata file.
type registrar interface {
	RegisterTable(ctx context.Context, ident table.Identifier, metadata string) (*table.Table, error)
}

// Recover makes a table of a metadata file: one that was dropped, or whose catalog is lost. Its snapshots, shards and
// UUID are the ones that the file names; the record of its drop is withdrawn. A name that is taken is ErrExists, unless the catalog is a database
// whose metadata file of that table does not exist any more and lay in the folder of this one: then this one takes its place. The file may be named
// as other engines do: file:/x, /x.
func (c *Catalog) Recover(ctx context.Context, metadata string, o RecoverOptions) (*Table, error) {
	if c.registrar == nil {
		return nil, fmt.Errorf("%w: the catalog can't take over metadata files", ErrInvalid)
	}
	all, err := c.registeredNow(ctx)
	if err != nil {
		return nil, fmt.Errorf("the tables of the catalog can't be read: %w", err)
	}
	t, r, err := c.recover(ctx, metadata, o, all)
	if r == nil {
		return nil, err
	}
	results := []RecoverResult{{Table: r.name.String(), registered: r, err: err}}
	c.withdrawTwins(context.WithoutCancel(ctx), results)
	return t, results[0].err
}

// recovered is a table that was registered.
type recovered struct {
	name Name
	uuid string
	// at is the metadata file that was registered.
	at string
	// replaced: the name stood in the catalog before, with a metadata file that is lost.
	replaced bool
}

// recover is Recover up to the check that no other name has the UUID by then; all are the tables of the catalog. Its second result is nil if nothing was
// registered.
func (c *Catalog) recover(ctx context.Context, metadata string, o RecoverOptions, all []gc.Registered) (*Table, *recovered, error) {
	at, err := c.mountMetadata(ctx, metadata)
	if err != nil {
		return nil, nil, err
	}
	meta, err := c.readMetadata(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	name := o.As
	if name == (Name{}) {
		if name, err = c.nameOfLocation(meta.Location()); err != nil {
			return nil, nil, err
		}
	}
	owner, err := c.recoverable(ctx, meta, name, o.TakeOver, all)
	if err != nil {
		return nil, nil, err
	}
	if err := c.CreateNamespace(ctx, join(name.namespace())); err != nil {
		return nil, nil, err
	}
	if err := c.ownRecovered(ctx, owner, name, o.TakeOver); err != nil {
		return nil, nil, err
	}
	r := &recovered{name: name, uuid: meta.TableUUID().String(), at: at}
	if r.replaced, err = c.replaceLost(ctx, name, at); err != nil {
		return nil, nil, fmt.Errorf("table %s: %w", name, err)
	}
	if !r.replaced {
		if err := c.register(ctx, name, at); err != nil {
			return nil, nil, fmt.Errorf("table %s: %w", name, err)
		}
	}
	if err := c.checkBegun(ctx, r.uuid); err != nil { // a collection began meanwhile; it sees the table or is seen
		return nil, r, fmt.Errorf("table %s: %w", name, errors.Join(err, c.withdraw(context.WithoutCancel(ctx), r)))
	}
	t, err := c.Load(ctx, name)
	if err != nil {
		return nil, r, err
	}
	if err := t.checkVault(); err != nil {
		return t, r, err
	}
	if err := t.claimVault(ctx); err != nil {
		return t, r, err
	}
	c.recordName(ctx, t)
	return t, r, nil
}

// register puts a metadata file into the catalog. Whatever the response was, a table of that name with that file, or with one that followed it, is the one
// that was to be registered.
func (c *Catalog) register(ctx context.Context, name Name, at string) error {
	_, err := c.registrar.RegisterTable(ctx, name.identifier(), at)
	if err == nil {
		return nil
	}
	there, loadErr := c.ice.LoadTable(context.WithoutCancel(ctx), name.identifier())
	switch class := commiterr.ClassOf(err); {
	case loadErr == nil && c.follows(ctx, there, at):
		return nil
	case loadErr == nil && !errors.Is(translate(err), ErrExists):
		return fmt.Errorf("%w: %w", ErrExists, translate(err))
	case loadErr == nil, errors.Is(loadErr, icecatalog.ErrNoSuchTable) && class != commiterr.Unknown:
		return translate(err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(translate(err), loadErr))
}

// follows reports whether a table's current metadata file is at, or one that followed it.
func (c *Catalog) follows(ctx context.Context, t *table.Table, at string) bool {
	if is, _ := c.isFile(ctx, t.MetadataLocation(), at); is {
		return true
	}
	for previous := range t.Metadata().PreviousFiles() {
		if is, _ := c.isFile(ctx, previous.MetadataFile, at); is {
			return true
		}
	}
	return false
}

// mountMetadata gives the URL at which the metadata file of a location is read.
func (c *Catalog) mountMetadata(ctx context.Context, location string) (string, error) {
	return c.metadata.Mount(ctx, icebergaccess.Canonical(location))
}

// isFile reports whether a location is that of the metadata file at.
func (c *Catalog) isFile(ctx context.Context, location, at string) (bool, error) {
	mounted, err := c.mountMetadata(ctx, location)
	return err == nil && metadataio.CanonicalURL(mounted) == metadataio.CanonicalURL(at), err
}

// withdrawTwin takes a table that was registered here out of the catalog again if another name has its UUID: it was renamed, or recovered by somebody else,
// while this recovery looked for it.
func (c *Catalog) withdrawTwin(ctx context.Context, r *recovered, all []gc.Registered) error {
	there, other := false, ""
	for _, t := range all {
		switch {
		case t.UUID != r.uuid:
		case t.Name == r.name.String():
			there = true
		default:
			other = t.Name
		}
	}
	if !there || other == "" {
		return nil
	}
	err := fmt.Errorf("%w: table %s: table %s of this catalog has the UUID %s: it was renamed or recovered during this recovery", ErrUnsafe, r.name, other, r.uuid)
	return errors.Join(err, c.withdraw(ctx, r))
}

// withdraw takes a table that was registered here out of the catalog again, unless somebody has committed to it since.
func (c *Catalog) withdraw(ctx context.Context, r *recovered) error {
	stays := fmt.Errorf("table %s stays in the catalog; drop the name that is not wanted (its files remain)", r.name)
	if r.replaced {
		return stays
	}
	there, err := c.ice.LoadTable(ctx, r.name.identifier())
	switch {
	case errors.Is(err, icecatalog.ErrNoSuchTable):
		return nil
	case err != nil:
		return errors.Join(stays, translate(err))
	case there.Metadata().TableUUID().String() != r.uuid:
		return nil
	}
	if unchanged, err := c.isFile(ctx, there.MetadataLocation(), r.at); !unchanged {
		return errors.Join(stays, err)
	}
	if c.sql != nil {
		err = c.sql.DropAt(ctx, r.name.identifier(), there.MetadataLocation())
	} else {
		err = c.ice.DropTable(ctx, r.name.identifier())
	}
	if err != nil && !errors.Is(err, icecatalog.ErrNoSuchTable) {
		return errors.Join(stays, translate(err))
	}
	return nil
}

// replaceLost makes a file the current metadata of a table that stands in the catalog with a file that is gone, so that it can be neither loaded nor
// dropped. It reports whether it did. Nothing is changed where that file exists, or nobody knows.
func (c *Catalog) replaceLost(ctx context.Context, name Name, at string) (bool, error) {
	if c.sql == nil {
		return false, nil
	}
	was, err := c.sql.Location(ctx, name.identifier())
	switch {
	case errors.Is(err, icecatalog.ErrNoSuchTable):
		return false, nil
	case err != nil:
		return false, err
	}
	lost, err := c.mountMetadata(ctx, was)
	if err != nil {
		return false, err
	}
	switch gone, err := isGone(ctx, c.metadata.Uncached(), lost); {
	case err != nil || !gone: // the name is taken
		return false, err
	case path.Dir(metadataio.CanonicalURL(lost)) != path.Dir(metadataio.CanonicalURL(at)):
		return false, fmt.Errorf("%w: its metadata file %s does not exist, and %s is not in the same folder: it may belong to another table", ErrUnsafe, was, at)
	}
	if _, err := c.sql.Point(ctx, name.identifier(), was, at); err != nil {
		return false, translate(err)
	}
	c.opts.Log.Warn("the current metadata file of a table was lost; an older one has taken its place, and commits between the two are gone", "table", name.String(),
		"lost", was, "current", at)
	return true, nil
}

// isGone reports whether an object does not exist: by two requests for it and a list between them, for a store may deny an object, or leave
// one out of a list, once.
func isGone(ctx context.Context, client *blobio.Client, url string) (bool, error) {
	stat := func() (bool, error) {
		_, err := client.Stat(ctx, url)
		if errors.Is(err, blobio.ErrNotFound) {
			return true, nil
		}
		return false, err
	}
	if gone, err := stat(); err != nil || !gone {
		return false, err
	}
	for at, err := range client.List(ctx, url) {
		if err != nil {
			return false, err
		}
		if at.URL == url {
			return false, nil
		}
	}
	return stat()
}

// readMetadata reads a metadata file.
func (c *Catalog) readMetadata(ctx context.Context, at string) (table.Metadata, error) {
	text, _, err := c.metadata.ReadAll(ctx, at, icebergaccess.MaxFile)
	if err != nil {
		return nil, err
	}
	if text, err = metadataio.Decompress(at, text, c.opts.metadataMemory()); err != nil {
		return nil, fmt.Errorf("%w: %s is not an Iceberg metadata file: %w", ErrInvalid, at, err)
	}
	meta, err := table.ParseMetadataBytes(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not an Iceberg metadata file: %w", ErrInvalid, at, err)
	}
	return meta, nil
}

// ownRecovered makes the vault folder of a table this catalog's, before the table is registered: were it after, a take-over that fails would
// leave a table that can't be written to.
func (c *Catalog) ownRecovered(ctx context.Context, owner *Owner, name Name, takeOver bool) error {
	switch {
	case owner == nil: // the first claim writes the record
		return nil
	case takeOver:
		return c.takeOwnership(ctx, *owner, name)
	}
	if err := c.adoptIdentity(ctx, name.Namespace, owner.CatalogID); err != nil {
		c.opts.Log.Warn("the identity of the former catalog is not recorded; under another URI this catalog will need --take-over", "table", name.String(), "error", err)
	}
	return nil
}

// recoverable refuses what a recovery would leave half done, before anything is changed: a UUID that a table of the catalog
// has, since two tables would share one vault folder and the collection of one would delete the other's shards, and a
// vault folder of another catalog unless it is taken over. It returns the record of the owner, nil if there is none.
func (c *Catalog) recoverable(ctx context.Context, meta table.Metadata, name Name, takeOver bool, all []gc.Registered) (*Owner, error) {
	uuid := meta.TableUUID().String()
	for _, other := range all {
		switch {
		case other.UUID != uuid:
		case other.Name == name.String():
			return nil, fmt.Errorf("table %s: %w, with the UUID %s", name, ErrExists, uuid)
		default:
			return nil, fmt.Errorf("%w: table %s: table %s of this catalog has the UUID %s already; drop that name first (its files remain), or rename it: shardcat table rename",
				ErrUnsafe, name, other.Name, uuid)
		}
	}
	if err := c.checkBegun(ctx, uuid); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	var there Owner
	err := c.records.Read(ctx, c.vaultFolder(uuid)+"_owner.json", &there)
	if errors.Is(err, blobio.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("vault of table %s: %w", name, err)
	}
	if takeOver && there.TableUUID == uuid {
		return &there, nil
	}
	return &there, c.checkOwned(ctx, &there, uuid)
}

// nameOfLocation is the name that a table of ours had: <warehouse>/<namespace>/<table>-<8 hex>.
func (c *Catalog) nameOfLocation(location string) (Name, error) {
	rest, ok := strings.CutPrefix(location, c.warehouse+"/")
	folder, base := path.Split(rest)
	if dash := strings.LastIndexByte(base, '-'); dash > 0 && len(base)-dash == 9 {
		base = base[:dash]
	}
	if !ok || folder == "" {
		return Name{}, fmt.Errorf("%w: the location %s contains no table name; set one with --as", ErrInvalid, location)
	}
	return ParseName(strings.ReplaceAll(folder, "/", ".") + base)
}
