package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/keyindex"
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

// keyIndexFor opens the key index that can tell most of a key's columns, or none.
func (t *Table) keyIndexFor(ctx context.Context, ts *manifest.TableSchema, columns []int) (*keyindex.Index, error) {
	for _, def := range t.keyIndexDefs() {
		if !slices.Equal(def.IDs, columns) {
			continue
		}
		x, err := t.keyIndexFolder(t.cat.client).Open(ctx, ts, def)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && def.Object != "" {
			t.cat.opts.Log.Warn("a key index is not used", "table", t.name.String(), "index", t.keyIndexName(&def), "error", err)
		}
		return x, nil
	}
	return nil, nil
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
	if where == nil || len(p.Shards) <= fewShards {
		return nil
	}
	for _, def := range t.keyIndexDefs() {
		key, ok := rowkey.OfIDs(ts, def.IDs)
		if !ok || def.Object == "" || !slices.Contains(where.Nodes(), key.Columns[0].ID) {
			continue
		}
		x, err := t.keyIndexFolder(t.cat.client).Open(ctx, ts, def)
		if err == nil {
			err = tablescan.RuleOutKeys(ctx, p, x)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			t.cat.opts.Log.Warn("a key index is not used", "table", t.name.String(), "index", t.keyIndexName(&def), "error", err)
		}
	}
	return nil
}
