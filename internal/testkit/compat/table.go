package compat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Names in a set.
const (
	catalogFile = "catalog.db"
	tableRows   = "table.ndjson"
	tagRows     = "tag.ndjson"
	tagName     = "before"
	openJob     = "left-open"
)

var tableName = catalog.Name{Namespace: "default", Table: "events"}

// openCatalog opens the catalog of a set.
func openCatalog(ctx context.Context, dir string) (*catalog.Catalog, error) {
	data, err := open(dir)
	if err != nil {
		return nil, err
	}
	metadata, err := open(dir)
	if err != nil {
		return nil, err
	}
	return catalog.Open(ctx, catalog.Options{URI: catalogURI(dir), Warehouse: root + "warehouse",
		Client: data, Metadata: metadata})
}

// writeTable leaves a table with merged shards, deleted records, a tag, an added column, objects marked for deletion and a
// job that has not ended.
func writeTable(ctx context.Context, dir string) error {
	c, err := openCatalog(ctx, dir)
	if err != nil {
		return err
	}
	defer c.Close()
	l := &life{ctx: ctx, catalog: c, dir: dir}
	for _, step := range []func() error{l.create, l.land, l.land, l.compact, l.tag, l.delete, l.addColumn, l.land, l.collect, l.leaveJob, l.print} {
		if err := step(); err != nil {
			return err
		}
	}
	return moveCatalog(dir, catalogURI(dir), noPlace)
}

// noPlace stands in a set for the URI of its catalog, which the record of a table's owner holds.
const noPlace = "sqlite:/released/" + catalogFile

func catalogURI(dir string) string { return "sqlite:" + filepath.Join(dir, catalogFile) }

// moveCatalog states in the records of owners that the catalog lies elsewhere.
func moveCatalog(dir, from, to string) error {
	owners, err := filepath.Glob(filepath.Join(dir, "warehouse", "vault", "*", "_owner.json"))
	if err == nil && len(owners) != 1 {
		err = fmt.Errorf("%d records of owners", len(owners))
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(owners[0])
	if err != nil {
		return err
	}
	moved := strings.Replace(string(text), strconv.Quote(from), strconv.Quote(to), 1)
	if moved == string(text) {
		return fmt.Errorf("%s names another catalog than %s", owners[0], from)
	}
	if err := os.Remove(owners[0]); err != nil { // objects are read-only
		return err
	}
	return os.WriteFile(owners[0], []byte(moved), 0o644)
}

// life is what is done to the table of a set.
type life struct {
	ctx     context.Context
	catalog *catalog.Catalog
	table   *catalog.Table
	dir     string
	rows    int
}

func (l *life) create() error {
	s, err := schema.Parse("id: Int64, kind: String, at: DateTime, tags: List<String>")
	if err != nil {
		return err
	}
	l.table, err = l.catalog.Create(l.ctx, tableName, catalog.CreateOptions{Schema: s, Partition: []string{"kind", "month(at)"}, CreateNamespace: true})
	return err
}

// land appends twenty rows.
func (l *life) land() error {
	var text strings.Builder
	for range 20 {
		fmt.Fprintf(&text, `{"id":%d,"kind":"%c","at":"2024-01-%02dT00:00:00.0000001Z","tags":["t%d",null]}`+"\n", l.rows, 'a'+l.rows%2, 1+l.rows%28, l.rows)
		l.rows++
	}
	input := fmt.Sprintf("mem://released-input/%d.ndjson", l.rows)
	if err := l.catalog.Client().Put(l.ctx, input, []byte(text.String())); err != nil {
		return err
	}
	src, err := fileio.OpenSource(l.ctx, l.catalog.Client(), []string{input}, fileio.SourceOptions{})
	if err != nil {
		return err
	}
	defer src.Close()
	_, err = l.table.Ingest(l.ctx, src, catalog.IngestOptions{})
	return err
}

func (l *life) compact() error {
	report, err := compaction.Compact(l.ctx, l.table, compaction.Policy{MinInputs: 2}, compaction.Options{})
	if err == nil && len(report.Results) != 2 {
		err = fmt.Errorf("%d groups were merged", len(report.Results))
	}
	return err
}

func (l *life) tag() error {
	_, err := l.table.CreateTag(l.ctx, tagName, 0)
	return err
}

func (l *life) delete() error {
	where, err := filter.Parse("id IN (3, 4, 30)")
	if err != nil {
		return err
	}
	_, err = l.table.Delete(l.ctx, where, catalog.DeleteOptions{})
	return err
}

func (l *life) addColumn() error {
	return l.table.AddColumn(l.ctx, "note", &schema.Node{Basic: schema.String, Nullable: true})
}

// collect expires what the tag does not hold and marks what nothing needs any more. Nothing is deleted.
func (l *life) collect() error {
	p, err := l.table.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now()})
	if err == nil {
		err = p.Execute(l.ctx)
	}
	if err != nil {
		return err
	}
	out, err := l.table.Collect(l.ctx, catalog.CollectOptions{Execute: true, MinAge: time.Nanosecond, UnsafeMinAge: true, MaxDeleteRatio: 1})
	if err == nil && len(out.Mark) == 0 {
		err = errors.New("nothing was marked for deletion")
	}
	return err
}

func (l *life) leaveJob() error {
	_, _, err := l.table.BeginJob(l.ctx, catalog.JobAppend, openJob, nil, l.table.Outputs)
	return err
}

func (l *life) print() error {
	for name, at := range map[string]catalog.At{tableRows: {}, tagRows: {Ref: tagName}} {
		text, err := rowsOf(l.ctx, l.table, at)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf are the rows of a table as NDJSON, by id.
func rowsOf(ctx context.Context, t *catalog.Table, at catalog.At) (string, error) {
	p, err := t.Plan(ctx, catalog.ScanOptions{At: at, OrderBy: []catalog.OrderKey{{Column: "id"}}})
	if err != nil {
		return "", err
	}
	return render(p.Run(ctx, nil))
}
