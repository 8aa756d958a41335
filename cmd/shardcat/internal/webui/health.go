package webui

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// health is whether the catalog, or the store of the shards, answers.
type health struct {
	What, Error string
	// Took is how long one request took.
	Took time.Duration
}

// checks keeps the last look at the catalog and the store: pages are fetched again and again.
type checks struct {
	mu   sync.Mutex
	made time.Time
	last []health
}

const (
	// checkedFor is how long a look is shown, checkTimeout how long one may take.
	checkedFor   = 30 * time.Second
	checkTimeout = 3 * time.Second
)

// of asks both for one answer, or gives the last look.
func (c *checks) of(ctx context.Context, cat *catalog.Catalog) []health {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.made) < checkedFor {
		return c.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	c.last = []health{
		check("catalog", func() error {
			_, err := cat.Namespaces(ctx)
			return err
		}),
		check("store of the shards", func() error {
			for _, err := range cat.Client().List(ctx, cat.Vault()+"/") {
				return err
			}
			return nil
		}),
	}
	c.made = time.Now()
	return c.last
}

func check(what string, do func() error) health {
	begun := time.Now()
	h := health{What: what}
	if err := do(); err != nil {
		h.Error = fmt.Sprint(err)
	}
	h.Took = time.Since(begun)
	return h
}
