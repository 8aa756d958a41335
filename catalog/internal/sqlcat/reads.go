package sqlcat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
)

// Reads retries reads of a catalog's database that is away, for a budget of time, and bounds each. The zero value does neither.
type Reads struct {
	Budget, Timeout time.Duration
	// Waiting reports the begin of an outage, and recovered its end; either may be nil.
	Waiting   func(cause error, until time.Time)
	Recovered func(outage time.Duration)
}

// maxSilent ends reads of a database that accepts connections and never responds.
const maxSilent = 2

// Do reads until it succeeds or fails for good.
func (r Reads) Do(ctx context.Context, read func(context.Context) error) error {
	if r.Timeout == 0 {
		return read(ctx)
	}
	begin, told, silent := time.Now(), false, 0
	for n := 1; ; n++ {
		err := r.once(ctx, read)
		if errors.Is(err, resthttp.ErrTimeout) {
			silent++
		}
		if err == nil && told && r.Recovered != nil {
			r.Recovered(time.Since(begin))
		}
		if err == nil || ctx.Err() != nil || silent >= maxSilent || silent == 0 && !commiterr.IsOutage(err) {
			return err
		}
		pause := rand.N(min(10*time.Second, 100*time.Millisecond<<min(n, 16)))
		if time.Since(begin)+pause > r.Budget {
			return err
		}
		if !told && time.Since(begin)+pause >= time.Second && r.Waiting != nil {
			told = true
			r.Waiting(err, begin.Add(r.Budget))
		}
		if err := backoff.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

func (r Reads) once(ctx context.Context, read func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	err := read(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the catalog's database: %w: %s (see --catalog-timeout)", resthttp.ErrTimeout, r.Timeout)
	}
	return err
}

// ListNamespaces implements icecatalog.Catalog.
func (c *Tables) ListNamespaces(ctx context.Context, parent table.Identifier) (found []table.Identifier, err error) {
	err = c.reads.Do(ctx, func(ctx context.Context) (err error) {
		found, err = c.Catalog.ListNamespaces(ctx, parent)
		return err
	})
	return found, err
}

// ListTables implements icecatalog.Catalog. The list is read whole before the first is yielded.
func (c *Tables) ListTables(ctx context.Context, ns table.Identifier) iter.Seq2[table.Identifier, error] {
	return func(yield func(table.Identifier, error) bool) {
		var all []table.Identifier
		err := c.reads.Do(ctx, func(ctx context.Context) error {
			all = nil
			for ident, err := range c.Catalog.ListTables(ctx, ns) {
				if err != nil {
					return err
				}
				all = append(all, ident)
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, ident := range all {
			if !yield(ident, nil) {
				return
			}
		}
	}
}

// CheckNamespaceExists implements icecatalog.Catalog.
func (c *Tables) CheckNamespaceExists(ctx context.Context, ns table.Identifier) (there bool, err error) {
	err = c.reads.Do(ctx, func(ctx context.Context) (err error) {
		there, err = c.Catalog.CheckNamespaceExists(ctx, ns)
		return err
	})
	return there, err
}

// LoadNamespaceProperties implements icecatalog.Catalog.
func (c *Tables) LoadNamespaceProperties(ctx context.Context, ns table.Identifier) (properties iceberg.Properties, err error) {
	err = c.reads.Do(ctx, func(ctx context.Context) (err error) {
		properties, err = c.Catalog.LoadNamespaceProperties(ctx, ns)
		return err
	})
	return properties, err
}
