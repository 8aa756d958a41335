package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commitqueue"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/catalog/internal/restcat"
	"github.com/shardcat/shardcat/catalog/internal/sqlcat"
	"github.com/shardcat/shardcat/catalog/internal/vended"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/urlresolve"
)

// Where things lie unless options say otherwise.
const (
	DefaultURI       = "sqlite:./shardcat/catalog.db"
	DefaultWarehouse = "./shardcat/warehouse"
)

// CatalogName is the name under which tables stand in an SQL catalog; pyiceberg and JDBC clients filter by it.
const CatalogName = "shardcat"

// Options of Open. The zero value is the embedded catalog in ./shardcat.
type Options struct {
	// URI of the Iceberg catalog: sqlite:PATH, postgres://…, rest+http://… or rest+https://…
	URI string
	// Warehouse is the folder or URL under which tables' metadata lie. A REST catalog may take a name.
	Warehouse string
	// Vault is the folder or URL under which shards lie, <warehouse>/vault if empty.
	Vault string
	// Client reads and writes the shards; one is made if nil.
	Client *blobio.Client
	// Metadata reads and writes Iceberg's metadata, so that its requests are counted apart; one is made if nil.
	Metadata *blobio.Client
	// Access is what the catalog will be used for, ReadWrite if empty.
	Access Access
	// UnsafeNoConditionalWrites accepts a store that overwrites what it is to create, for one single writer.
	UnsafeNoConditionalWrites bool
	// MaxMemory is that of each reading of shards whose own options leave it open (see ScanOptions): scans, deletions,
	// rewrites, checks, verification. shardfmt.DefaultMaxMemory if 0.
	MaxMemory int64
	// MetadataCache is how many bytes of manifests and lists of them are kept in memory, 64 MiB if 0.
	MetadataCache int
	// CommitAttempts bounds how often a change is staged again after a conflict, 100 if 0.
	CommitAttempts int
	// RequestTimeout is how long one request to the catalog may take; 0 is 25 s for reads and 2 minutes for changes of a
	// REST catalog.
	RequestTimeout time.Duration
	// RetryBudget is how long a request to a catalog that can't be reached is tried again, 2 minutes if 0, not at all if
	// negative.
	RetryBudget time.Duration
	// Agent names the program in requests to a REST catalog, "shardcat" and its version if empty.
	Agent string
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Log takes warnings, slog.Default() if nil.
	Log *slog.Logger

	// unnamed: no warehouse was given, and none is sent to a server.
	unnamed bool
	// wrap, if not nil, is what icebergaccess.Wrap was given.
	wrap func(icecatalog.Catalog) icecatalog.Catalog
}

// KnowsWarehouse reports whether the warehouse is a name that only the REST catalog knows, and no folder or URL.
func (o Options) KnowsWarehouse() bool {
	return caturi.IsREST(o.URI) && caturi.IsWarehouseName(o.Warehouse)
}

// Access is what a catalog is opened for.
type Access string

const (
	// ReadWrite makes what is missing of the catalog (its file, its tables).
	ReadWrite Access = ""
	// Existing is ReadWrite for a catalog that must be there: a missing one is ErrNotFound.
	Existing Access = "existing"
	// ReadOnly writes nothing: the file may lie on a medium that can't be written. A missing catalog is ErrNotFound.
	ReadOnly Access = "read-only"
)

// defaultCommitAttempts outlasts busy writers also where no queue of writers can be kept: of eight that win as often as
// one another, one loses 100 times in a row with a probability of (7/8)^100, about one in a million.
const defaultCommitAttempts = 100

// Catalog is an open Iceberg catalog with its warehouse and vault. Safe for concurrent use.
type Catalog struct {
	ice       icecatalog.Catalog
	registrar registrar
	// queue of the writers of a table, nil if the catalog can't keep one.
	queue commitqueue.Queue
	// sql is the catalog where it is an SQL database, without what icebergaccess.Wrap put around it.
	sql   *sqlcat.Tables
	known registeredTables
	// claimed are the vault folders, by table, that were found to be this catalog's own.
	claimed   sync.Map
	met       metNamespaces
	identity  string
	ids       identities
	warehouse string
	vault     string
	client    *blobio.Client
	metadata  *blobio.Client
	// records are those of the vault, by client.
	records records.Client
	// fs is the IO of tables.
	fs      table.FSysF
	opts    Options
	closers []func() error
	// groups are the appends that share commits.
	groups commitGroups
	// choices are the encodings of small stripes.
	choices tableChoices
}

// Open opens a catalog; the SQLite file and its tables are made if they are not there, unless Access states otherwise. With a warehouse on an
// object store a catalog must be named: an SQLite file in the current folder would be the only key to it.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	c, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func prepare(ctx context.Context, o Options) (*Catalog, error) {
	named := o.URI != ""
	o.fill()
	if !named && strings.Contains(o.Warehouse, "://") && !isLocal(o.Warehouse) {
		at, _, _ := strings.Cut(o.Warehouse, "?")
		return nil, fmt.Errorf("%w: the warehouse %s is remote, but the default catalog is a local file; set one with --catalog",
			ErrUnsafe, at)
	}
	c := &Catalog{client: o.Client, metadata: o.Metadata, opts: o}
	if c.client == nil {
		c.client = blobio.NewClient(blobio.ClientOptions{})
		c.closers = append(c.closers, c.client.Close)
	}
	c.records = records.New(c.client)
	if c.metadata == nil {
		c.metadata = blobio.NewClient(blobio.ClientOptions{Retry: c.client.Retry(), CacheOf: c.client, Stores: c.client.Stores(),
			UnconditionalWrites: o.UnsafeNoConditionalWrites})
		c.closers = append(c.closers, c.metadata.Close)
	}
	if err := c.mount(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (o *Options) fill() {
	if o.URI == "" {
		o.URI = DefaultURI
	}
	if o.Warehouse == "" {
		o.Warehouse, o.unnamed = DefaultWarehouse, true
	}
	if o.CommitAttempts == 0 {
		o.CommitAttempts = defaultCommitAttempts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
}

// minMetadataMemory is what the metadata of a table may take whatever the memory of scans is: that of some 100,000 values of JSON.
const minMetadataMemory = 64 << 20

// metadataMemory bounds what the metadata of one table may take once they are decoded.
func (o *Options) metadataMemory() int64 {
	return max(minMetadataMemory, cmp.Or(o.MaxMemory, shardfmt.DefaultMaxMemory))
}

// mount finds the canonical locations of warehouse and vault.
func (c *Catalog) mount(ctx context.Context) error {
	if c.opts.KnowsWarehouse() {
		if c.opts.Vault == "" {
			return errWarehouseName(c.opts.Warehouse)
		}
	} else if err := c.mountWarehouse(ctx); err != nil {
		return err
	}
	vault := c.opts.Vault
	if vault == "" {
		vault = c.warehouse + "/vault"
	}
	at, err := c.client.Mount(ctx, vault)
	if err != nil {
		return fmt.Errorf("vault: %w", err)
	}
	c.vault = strings.TrimSuffix(at, "/")
	return CheckLocation("vault", c.vault)
}

// errWarehouseName is the refusal of a name without a vault.
func errWarehouseName(name string) error {
	hint := ""
	if strings.ContainsAny(name, "/") && !strings.Contains(name, ":") {
		hint = "; write a local folder as ./" + name
	}
	return fmt.Errorf("%w: warehouse %q is a name of the REST catalog; set the folder or URL for shards with --vault%s", ErrInvalid, name, hint)
}

func (c *Catalog) mountWarehouse(ctx context.Context) error {
	for _, s := range []*blobio.Client{c.client, c.metadata} {
		at, err := s.Mount(ctx, c.opts.Warehouse)
		if err != nil {
			return fmt.Errorf("warehouse: %w", err)
		}
		c.warehouse = strings.TrimSuffix(at, "/")
	}
	return CheckLocation("warehouse", c.warehouse)
}

// CheckLocation refuses a warehouse or vault (what reports which) at a canonical URL that Open would refuse: locations that other
// Iceberg clients would not find, for they escape or unescape what is outside this alphabet each in their own way.
func CheckLocation(what, location string) error {
	at, err := urlresolve.Parse(location + "/") // a bucket alone is a location too
	if err != nil {
		return err
	}
	if key := strings.TrimSuffix(at.Key(), "/"); key != "" && !blobio.PortableKey(key) {
		return fmt.Errorf("%w: %s %s: its path may contain only letters, digits and / _ . = -", ErrInvalid, what, location)
	}
	return nil
}

func isLocal(location string) bool {
	return location == "" || strings.HasPrefix(location, "file://") || strings.HasPrefix(location, "mem://")
}

// connect opens the Iceberg catalog itself.
func (c *Catalog) connect(ctx context.Context) error {
	ice, identity, closeIce, err := openIceberg(ctx, c.opts, c.warehouse)
	if err != nil {
		return err
	}
	c.closers = append(c.closers, closeIce)
	c.registrar, _ = ice.(registrar)
	store := metadataio.NewStore(c.metadata, cmp.Or(c.opts.MetadataCache, metadataio.DefaultCache), c.opts.metadataMemory())
	c.fs = store.FS
	switch tables := ice.(type) {
	case *sqlcat.Tables:
		ice, c.sql = tables.UseIO(store.FS), tables
		if c.opts.wrap == nil {
			c.queue = tables.Queue()
		}
	case *restcat.Tables:
		ice = tables.UseIO(store.FS, vended.Stores{Metadata: c.metadata, Shards: c.client, Vault: c.vault, Log: c.opts.Log})
		if c.opts.wrap == nil {
			c.queue = commitqueue.NewObjects(c.client, c.vaultFolder)
		}
	}
	c.ice, c.identity = ice, identity
	if c.opts.wrap != nil {
		c.ice = c.opts.wrap(ice)
		if r, ok := c.ice.(registrar); ok && c.registrar != nil {
			c.registrar = r
		}
	}
	return nil
}

// openIceberg opens the catalog of a URI. identity names it without secrets, for ownership of vault folders.
func openIceberg(ctx context.Context, o Options, warehouse string) (ice icecatalog.Catalog, identity string, closer func() error, err error) {
	switch scheme, _, _ := strings.Cut(o.URI, ":"); {
	case scheme == "sqlite" || scheme == "postgres" || scheme == "postgresql":
		tables, identity, err := sqlcat.Open(ctx, o.sql(warehouse))
		if err != nil {
			return nil, "", nil, err
		}
		return tables, identity, tables.Close, nil
	case caturi.IsREST(o.URI):
		tables, err := restcat.Open(ctx, o.rest(warehouse))
		if err != nil {
			return nil, "", nil, err
		}
		return tables, caturi.Redact(o.URI), tables.Close, nil
	}
	return nil, "", nil, fmt.Errorf("%w: catalog %q: must be sqlite:PATH, postgres://… or rest+http(s)://…", ErrInvalid, caturi.Redact(o.URI))
}

// sql are the options of a catalog in a database.
func (o *Options) sql(warehouse string) sqlcat.Options {
	c := sqlcat.Options{
		URI: o.URI, Name: CatalogName, Create: o.Access == ReadWrite, ReadOnly: o.Access == ReadOnly, RequestTimeout: o.RequestTimeout,
		RetryBudget: o.RetryBudget, Log: o.Log, Properties: iceberg.Properties{},
	}
	if warehouse != "" {
		c.Properties["warehouse"] = warehouse
	}
	return c
}

// rest are the options of the client of a REST catalog.
func (o *Options) rest(location string) restcat.Options {
	r := restcat.Options{
		Name: CatalogName, URI: o.URI, Location: location, Agent: o.Agent, RequestTimeout: o.RequestTimeout, RetryBudget: o.RetryBudget,
		MaxMemory: o.metadataMemory(), Now: o.Now, Log: o.Log,
	}
	if !o.unnamed {
		r.Warehouse = o.Warehouse
	}
	return r
}

// RedactURI is a catalog's URI without credentials and options.
func RedactURI(uri string) string { return caturi.Redact(uri) }

// Close lets go of the catalog and of the spaces that Open made.
func (c *Catalog) Close() error {
	var errs []error
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// Warehouse and Vault are the canonical locations; Warehouse is empty where only a REST catalog knows it.
func (c *Catalog) Warehouse() string { return c.warehouse }

// Vault: see Warehouse.
func (c *Catalog) Vault() string { return c.vault }

// Client reads and writes the shards of this catalog's tables.
func (c *Catalog) Client() *blobio.Client { return c.client }

// Now is the time by the catalog's clock.
func (c *Catalog) Now() time.Time { return c.opts.Now() }

// MetadataCounters are the requests made for Iceberg's metadata.
func (c *Catalog) MetadataCounters() blobio.Counters { return c.metadata.Counters() }

// MetadataCountersByStore are those requests by bucket.
func (c *Catalog) MetadataCountersByStore() map[string]blobio.Counters {
	return c.metadata.CountersByStore()
}

func init() {
	icebergaccess.MetadataOf = func(t any) table.Metadata { return t.(*Table).ice.Metadata() }
	icebergaccess.WaitingAppends = func(c any) int { return c.(*Catalog).groups.queued() }
	icebergaccess.Wrap = func(o any, wrap func(icecatalog.Catalog) icecatalog.Catalog) { o.(*Options).wrap = wrap }
}

// metadataObject ends the names of files of metadata that are never written again: those with a UUID, as iceberg-go, Java's Iceberg and
// PyIceberg name them. Files of Hadoop tables, v1.metadata.json, are not among them.
var metadataObject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-m[0-9]+)?(\.avro|(\.gz|\.zstd)?\.metadata\.json(\.gz|\.zstd)?)$`)
})

// Cacheable reports whether the object at url may be kept in a cache (blobio.CacheOptions.Cacheable): an object of a shard, or a
// metadata file, manifest list or manifest, whose name is never used again.
func Cacheable(url string) bool {
	return shardfmt.Cacheable(url) || metadataObject().MatchString(path.Base(url))
}
