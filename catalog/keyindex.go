package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/catalog/internal/keysearch"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// keyIndexPrefix is what the specifications of key indexes begin with.
const keyIndexPrefix = "keys:"

// keyIndexFolder is where the table's key indexes lie, read by a client.
func (t *Table) keyIndexFolder(client *blobio.Client) *keyindex.Folder {
	return &keyindex.Folder{Client: client, Table: t.UUID(), URL: t.VaultFolder(), Log: t.cat.opts.Log}
}

// keyIndexDefs are the table's key indexes. A property that can't be read has none: nothing rests on them.
func (t *Table) keyIndexDefs() []keyindex.Def {
	text := t.Properties()[keyindex.Property]
	if text == "" {
		return nil
	}
	all, err := keyindex.ParseDefs(text)
	if err != nil {
		t.cat.opts.Log.Warn("the table's key indexes are not used", "table", t.name.String(), "error", err)
	}
	return all
}

// withKeyIndex opens a key index for use. One that can't be read is not used, for nothing rests on it.
func (t *Table) withKeyIndex(ctx context.Context, ts *manifest.TableSchema, def keyindex.Def, use func(*keyindex.Index) error) error {
	x, err := t.keyIndexFolder(t.cat.client).Open(ctx, ts, def)
	if err == nil {
		err = use(x)
	}
	if err != nil && ctx.Err() == nil && def.Object != "" {
		t.cat.opts.Log.Warn("a key index is not used", "table", t.name.String(), "index", t.keyIndexName(&def), "error", err)
	}
	return ctx.Err()
}

// rowsOfKeys finds the live rows of a branch that have keys of a list.
func (t *Table) rowsOfKeys(ctx context.Context, branch string, s *keysearch.Search) ([]tablescan.Match, error) {
	if s.Key.SchemaID != t.ice.Schema().ID {
		return nil, fmt.Errorf("%w: the table's columns were changed concurrently; ingest again", ErrConflict)
	}
	span := s.Span()
	if span == nil {
		return nil, nil
	}
	p, err := t.Plan(ctx, ScanOptions{At: At{Ref: branch}, Where: span, Select: []string{}, IgnoreIndexes: true})
	if err != nil {
		return nil, err
	}
	return s.Run(ctx, t.scanned(t.schema, nil), p.Shards, func(ctx context.Context) (found *keyindex.Index, err error) {
		defs, columns := t.keyIndexDefs(), t.idsOfKey(s.Key)
		if i := slices.IndexFunc(defs, func(d keyindex.Def) bool { return slices.Equal(d.IDs, columns) }); i >= 0 {
			err = t.withKeyIndex(ctx, t.schema, defs[i], func(x *keyindex.Index) error { found = x; return nil })
		}
		return found, err
	})
}

// keyIndexName is the specification of a key index.
func (t *Table) keyIndexName(d *keyindex.Def) string {
	var names []string
	for _, id := range d.IDs {
		name := strconv.Itoa(id)
		if n := t.schema.Node(id); n != nil {
			name = quotedPath(schema.JoinPath(n.Name))
		}
		names = append(names, name)
	}
	return keyIndexPrefix + strings.Join(names, ",")
}

// siftKeys rules out the shards, and stripes of them, of which a key index of the table reports that no row matches.
func (t *Table) siftKeys(ctx context.Context, p *Plan, ts *manifest.TableSchema) error {
	where := tablescan.Asks(p)
	if where == nil || len(p.Shards) <= keysearch.FewShards {
		return nil
	}
	for _, def := range t.keyIndexDefs() {
		key, ok := rowkey.OfIDs(ts, def.IDs)
		if !ok || def.Object == "" || !slices.Contains(where.Nodes(), key.Columns[0].ID) {
			continue
		}
		err := t.withKeyIndex(ctx, ts, def, func(x *keyindex.Index) error { return tablescan.RuleOutKeys(ctx, p, x) })
		if err != nil {
			return err
		}
	}
	return nil
}
