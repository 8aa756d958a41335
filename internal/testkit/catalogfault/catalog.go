package catalogfault

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// Moved is behind the name of a table that the event "rename" has renamed.
const Moved = "-moved"

// Play is a script while it is played, by any number of catalogs. All methods may be called concurrently.
type Play struct {
	mu     sync.Mutex
	rules  []rule
	counts map[string]int
	// before is the state of each table before its last change.
	before map[string]*table.Table
}

// Set begins a script, and to count again.
func (p *Play) Set(script string) error {
	rules, err := parse(script)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules, p.counts, p.before = rules, map[string]int{}, map[string]*table.Table{}
	return nil
}

// Calls is how many calls of a kind ("any" for all) were made since the script began.
func (p *Play) Calls(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[kind]
}

func (p *Play) next(kind string) rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.counts[kind]++
	p.counts[anyKind]++
	return find(p.rules, kind, p.counts[kind], p.counts[anyKind])
}

// Wrap puts the faults in front of a catalog.
func (p *Play) Wrap(c icecatalog.Catalog) icecatalog.Catalog { return &faulty{c, p} }

type faulty struct {
	icecatalog.Catalog
	play *Play
}

// call makes one call by its rule.
func (f *faulty) call(ctx context.Context, kind string, ident table.Identifier, do func() error) error {
	r := f.play.next(kind)
	if ofNamespace(kind) && r.status == http.StatusNotFound {
		r.answer = icecatalog.ErrNoSuchNamespace
	}
	switch r.what {
	case "fail":
		return fmt.Errorf("%s of the test: %w", kind, r.answer)
	case "lost":
		_ = do() // the caller never learns
		return fmt.Errorf("%s of the test: %w", kind, r.answer)
	case "twice":
		_ = do() // the second answer counts
	case "slow":
		time.Sleep(r.wait)
	case "before":
		if err := f.event(ctx, r.event, ident); err != nil {
			return err
		}
	case "after":
		err := do()
		if eventErr := f.event(ctx, r.event, ident); eventErr != nil {
			return eventErr
		}
		return err
	}
	return do()
}

// event is what another client does to the table of a call.
func (f *faulty) event(ctx context.Context, event string, ident table.Identifier) error {
	return another(context.WithoutCancel(ctx), f.Catalog, event, ident)
}

// registrar is a catalog that can take over a metadata file.
type registrar interface {
	RegisterTable(context.Context, table.Identifier, string) (*table.Table, error)
}

// Changed is the property that another client sets.
const Changed = "changed"

// another is what another client does to a table; one that is not there is left alone.
func another(ctx context.Context, c icecatalog.Catalog, event string, ident table.Identifier) error {
	if len(ident) == 0 {
		return nil
	}
	t, err := c.LoadTable(ctx, ident)
	if err != nil {
		return nil //nolint:nilerr // nothing to do it to
	}
	switch event {
	case "rename":
		to := append(ident[:len(ident)-1:len(ident)-1], ident[len(ident)-1]+Moved)
		_, err = c.RenameTable(ctx, ident, to)
	case "recover":
		r, ok := c.(registrar)
		if !ok {
			return fmt.Errorf("%T can't register a table", c)
		}
		if err = c.DropTable(ctx, ident); err == nil {
			_, err = r.RegisterTable(ctx, ident, t.MetadataLocation())
		}
	case "change":
		_, _, err = c.CommitTable(ctx, ident, nil, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{Changed: time.Now().String()})})
	}
	return err
}

// LoadTable implements icecatalog.Catalog.
func (f *faulty) LoadTable(ctx context.Context, ident table.Identifier) (t *table.Table, err error) {
	err = f.call(ctx, "load", ident, func() error {
		t, err = f.Catalog.LoadTable(ctx, ident)
		return err
	})
	f.play.mu.Lock()
	defer f.play.mu.Unlock()
	r := find(f.play.rules, "load", f.play.counts["load"], f.play.counts[anyKind])
	if r.what == "stale" && err == nil && f.play.before[fmt.Sprint(ident)] != nil {
		return f.play.before[fmt.Sprint(ident)], nil
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// CommitTable implements icecatalog.Catalog.
func (f *faulty) CommitTable(ctx context.Context, ident table.Identifier, r []table.Requirement, u []table.Update) (meta table.Metadata, at string, err error) {
	if was, loadErr := f.Catalog.LoadTable(ctx, ident); loadErr == nil {
		f.play.mu.Lock()
		if f.play.before != nil {
			f.play.before[fmt.Sprint(ident)] = was
		}
		f.play.mu.Unlock()
	}
	err = f.call(ctx, "commit", ident, func() error {
		meta, at, err = f.Catalog.CommitTable(ctx, ident, r, u)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return meta, at, nil
}

// CreateTable implements icecatalog.Catalog.
func (f *faulty) CreateTable(ctx context.Context, ident table.Identifier, s *iceberg.Schema, o ...icecatalog.CreateTableOpt) (t *table.Table, err error) {
	err = f.call(ctx, "create", ident, func() error {
		t, err = f.Catalog.CreateTable(ctx, ident, s, o...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// DropTable implements icecatalog.Catalog.
func (f *faulty) DropTable(ctx context.Context, ident table.Identifier) error {
	return f.call(ctx, "drop", ident, func() error { return f.Catalog.DropTable(ctx, ident) })
}

// RenameTable implements icecatalog.Catalog.
func (f *faulty) RenameTable(ctx context.Context, from, to table.Identifier) (t *table.Table, err error) {
	err = f.call(ctx, "rename", from, func() error {
		t, err = f.Catalog.RenameTable(ctx, from, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// RegisterTable is that of a catalog that has it.
func (f *faulty) RegisterTable(ctx context.Context, ident table.Identifier, metadata string) (t *table.Table, err error) {
	r, ok := f.Catalog.(registrar)
	if !ok {
		return nil, fmt.Errorf("%T can't register a table", f.Catalog)
	}
	err = f.call(ctx, "register", nil, func() error {
		t, err = r.RegisterTable(ctx, ident, metadata)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// ListNamespaces implements icecatalog.Catalog.
func (f *faulty) ListNamespaces(ctx context.Context, parent table.Identifier) (found []table.Identifier, err error) {
	err = f.call(ctx, "namespace", nil, func() error {
		found, err = f.Catalog.ListNamespaces(ctx, parent)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// CheckNamespaceExists implements icecatalog.Catalog.
func (f *faulty) CheckNamespaceExists(ctx context.Context, namespace table.Identifier) (there bool, err error) {
	err = f.call(ctx, "namespace", nil, func() error {
		there, err = f.Catalog.CheckNamespaceExists(ctx, namespace)
		return err
	})
	return there && err == nil, err
}

// CreateNamespace implements icecatalog.Catalog.
func (f *faulty) CreateNamespace(ctx context.Context, namespace table.Identifier, props iceberg.Properties) error {
	return f.call(ctx, "namespace", nil, func() error { return f.Catalog.CreateNamespace(ctx, namespace, props) })
}

// LoadNamespaceProperties implements icecatalog.Catalog.
func (f *faulty) LoadNamespaceProperties(ctx context.Context, namespace table.Identifier) (props iceberg.Properties, err error) {
	err = f.call(ctx, "namespace", nil, func() error {
		props, err = f.Catalog.LoadNamespaceProperties(ctx, namespace)
		return err
	})
	if err != nil {
		return nil, err
	}
	return props, nil
}

// UpdateNamespaceProperties implements icecatalog.Catalog.
func (f *faulty) UpdateNamespaceProperties(ctx context.Context, namespace table.Identifier, removals []string, updates iceberg.Properties) (
	done icecatalog.PropertiesUpdateSummary, err error,
) {
	err = f.call(ctx, "namespace", nil, func() error {
		done, err = f.Catalog.UpdateNamespaceProperties(ctx, namespace, removals, updates)
		return err
	})
	return done, err
}

// ListTables implements icecatalog.Catalog.
func (f *faulty) ListTables(ctx context.Context, namespace table.Identifier) iter.Seq2[table.Identifier, error] {
	if err := f.call(ctx, "list", nil, func() error { return nil }); err != nil {
		return func(yield func(table.Identifier, error) bool) { yield(nil, err) }
	}
	return f.Catalog.ListTables(ctx, namespace)
}
