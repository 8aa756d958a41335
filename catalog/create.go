package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// CreateOptions of a table.
type CreateOptions struct {
	// Schema of the table, in a shard's terms; or Arrow, in Arrow's: one of them must be given.
	Schema *schema.Schema
	// Arrow types are given back by Read as far as a table can hold their values (docs/reference/arrow.md).
	Arrow *arrow.Schema
	// Partition fields, each a column or a transform of one: "day(ts)", "bucket(16, id)", "truncate(4, name)",
	// "region".
	Partition []string
	// SortOrder of the rows of new shards, see Table.SortBy.
	SortOrder []OrderKey
	// Properties to set besides the ones that every table of shards has.
	Properties map[string]string
	// Location is the folder of the table's Iceberg metadata, a new one below the warehouse if empty.
	Location string
	// CreateNamespace makes a missing namespace; that of a name that gives none is made anyway.
	CreateNamespace bool
}

// tableParts are what a table is made of in Iceberg's terms.
type tableParts struct {
	schema     *iceberg.Schema
	spec       *iceberg.PartitionSpec
	order      table.SortOrder
	properties iceberg.Properties
}

func (c *Catalog) parts(name Name, o *CreateOptions) (*tableParts, error) {
	ice, notes, err := manifest.ToIceberg(o.Schema, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: table %s: %w", ErrInvalid, name, err)
	}
	if err := manifest.CheckSize(ice); err != nil {
		return nil, fmt.Errorf("%w: table %s: %w", ErrInvalid, name, err)
	}
	p := &tableParts{schema: ice}
	if p.spec, err = parsePartition(o.Partition, manifest.NewTableSchema(ice, notes)); err != nil {
		return nil, err
	}
	if p.order, err = firstOrder(o, ice); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	if err := checkProperties(o.Properties, o.Schema); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	p.properties, err = c.tableProperties(o.Properties, notes)
	return p, err
}

// Create makes an empty table and its vault folder. A table of that name is ErrExists.
func (c *Catalog) Create(ctx context.Context, name Name, o CreateOptions) (*Table, error) {
	if err := errors.Join(name.check(), o.ofArrow()); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	if err := c.besideTheVault(name.namespace()); err != nil {
		return nil, err
	}
	if err := c.checkTableLocation(&o.Location); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	p, err := c.parts(name, &o)
	if err != nil {
		return nil, err
	}
	if err := c.namespaceFor(ctx, name, o.CreateNamespace); err != nil {
		return nil, err
	}
	opts := []icecatalog.CreateTableOpt{icecatalog.WithPartitionSpec(p.spec), icecatalog.WithSortOrder(p.order), icecatalog.WithProperties(p.properties)}
	location := o.Location
	if location == "" && c.warehouse != "" {
		location = c.newLocation(name)
	}
	placed := opts
	if location != "" {
		placed = append(slices.Clip(opts), icecatalog.WithLocation(location))
	}
	created, err := c.ice.CreateTable(ctx, name.identifier(), p.schema, placed...)
	if err != nil && o.Location == "" && caturi.IsREST(c.opts.URI) && refusesLocation(err) { // the server places its tables itself
		location = ""
		created, err = c.ice.CreateTable(ctx, name.identifier(), p.schema, opts...)
	}
	if err != nil {
		if created, err = c.settleCreate(ctx, name, location, err); err != nil {
			return nil, fmt.Errorf("table %s: %w", name, translate(err))
		}
	}
	t := &Table{cat: c, name: name}
	if err := t.set(ctx, created); err != nil {
		return nil, err
	}
	if err := t.matchNotes(ctx, o.Schema); err != nil {
		return nil, err
	}
	return t, t.claimNew(ctx)
}

// refusesLocation reports whether a catalog refused where a table was to lie.
func refusesLocation(err error) bool {
	return (errors.Is(err, rest.ErrBadRequest) || errors.Is(err, rest.ErrForbidden)) && strings.Contains(strings.ToLower(err.Error()), "location")
}

// checkTableLocation spells a location that a caller chose as it is stored, and refuses one among the shards.
func (c *Catalog) checkTableLocation(location *string) error {
	if *location == "" {
		return nil
	}
	at, err := urlresolve.Parse(strings.TrimRight(*location, "/") + "/")
	if err != nil {
		return fmt.Errorf("%w: location: %w", ErrInvalid, err)
	}
	*location = strings.TrimRight(at.String(), "/")
	if strings.HasPrefix(*location+"/", c.vault+"/") || strings.HasPrefix(c.vault+"/", *location+"/") {
		return fmt.Errorf("%w: location %s and vault %s must not contain each other", ErrInvalid, *location, c.vault)
	}
	return CheckLocation("location", *location)
}

// namespaceFor makes the namespace of a new table, or asks whether it is there: not every REST catalog does by itself,
// and some let nobody ask.
func (c *Catalog) namespaceFor(ctx context.Context, name Name, create bool) error {
	if create {
		return c.CreateNamespace(ctx, join(name.namespace()))
	}
	if _, err := c.existingNamespace(ctx, join(name.namespace())); errors.Is(err, ErrNotFound) {
		if join(name.namespace()) == DefaultNamespace {
			return c.CreateNamespace(ctx, DefaultNamespace)
		}
		return err
	}
	return nil
}

// settleCreate finds out what became of a creation that ended with an error: the answer may have been lost after
// the work was done. Nobody else makes a table at this location; where the server chose it, a table may be that of another client. It returns the table, or
// the error to end with.
func (c *Catalog) settleCreate(ctx context.Context, name Name, location string, why error) (*table.Table, error) {
	if location == "" && commiterr.ClassOf(why) != commiterr.Unknown && !errors.Is(why, icecatalog.ErrNoSuchNamespace) {
		return nil, why
	}
	var err error
	for n := 1; n <= maxReloads; n++ {
		there, loadErr := c.ice.LoadTable(context.WithoutCancel(ctx), name.identifier())
		switch err = loadErr; {
		case err == nil && there.Location() == location:
			return there, nil
		case err == nil && location == "":
			return nil, fmt.Errorf("%w: a table of that name exists: %w", ErrUnknownOutcome, why)
		case err == nil, errors.Is(err, icecatalog.ErrNoSuchTable), errors.Is(why, icecatalog.ErrTableAlreadyExists):
			return nil, why
		}
		if backoff.Wait(ctx, backoff.Unknown(n)) != nil {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(why, err))
}

// claimNew claims the vault folder of a new table. The table stands without the claim: the first writer makes it.
func (t *Table) claimNew(ctx context.Context) error {
	err := t.claimVault(ctx)
	if err == nil || errors.Is(err, ErrUnsafe) {
		return err
	}
	t.cat.opts.Log.Warn("the owner record of the new table's vault folder is not written yet", "table", t.name.String(), "error", err)
	return nil
}

func (c *Catalog) tableProperties(asked map[string]string, notes manifest.TypeNotes) (iceberg.Properties, error) {
	properties := iceberg.Properties(c.settings())
	for _, key := range protectedSettings {
		if v, ok := asked[key]; ok && v != properties[key] {
			return nil, fmt.Errorf("%w: property %s must be %q on a table of shards", ErrInvalid, key, properties[key])
		}
	}
	maps.Copy(properties, asked)
	if text := notes.Encode(); text != "" {
		properties[manifest.TypesProperty] = text
	}
	return properties, nil
}

// newLocation is a folder that no table had before: one dropped and created again gets another.
func (c *Catalog) newLocation(name Name) string {
	return fmt.Sprintf("%s/%s/%s-%s", c.warehouse, strings.Join(name.namespace(), "/"), name.Table, uuid.NewString()[:8])
}

// matchNotes corrects the type notes where a catalog gave other field ids than we did.
func (t *Table) matchNotes(ctx context.Context, s *schema.Schema) error {
	notes, err := manifest.NotesFor(s, t.ice.Schema())
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	text := notes.Encode()
	if text == t.ice.Properties()[manifest.TypesProperty] {
		return nil
	}
	return t.update(ctx, func() (*metaUpdate, error) {
		return &metaUpdate{
			updates: []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{manifest.TypesProperty: text})},
			done:    func(meta table.Metadata) bool { return meta.Properties()[manifest.TypesProperty] == text },
		}, nil
	})
}
