package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
)

// heads is the catalog's state in memory: the metadata of the one table.
type heads struct {
	mu       sync.Mutex
	client   *blobio.Client
	meta     table.Metadata
	location string
	commits  int
}

// memoryCatalog is a catalog whose commits are made in memory, as one actor sees it.
type memoryCatalog struct {
	icecatalog.Catalog
	heads *heads
	// base is the table as the embedded catalog knows it, for its IO.
	base *table.Table
	// other, if not empty, is a table that the embedded catalog knows all of: all tables have the same IO, and of the one
	// that heads keeps the file it was made with may be gone.
	other string
	// before runs when a commit is about to be sent; an error is a commit that never arrived.
	before func() error
	// after may take the answer of a commit away.
	after func() error
}

// LoadTable implements catalog.Catalog.
func (m *memoryCatalog) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if m.other == ident[len(ident)-1] {
		return m.Catalog.LoadTable(ctx, ident)
	}
	if m.base == nil {
		from := ident
		if m.heads.known() && m.other != "" {
			from = append(slices.Clone(ident[:len(ident)-1]), m.other)
		}
		base, err := m.Catalog.LoadTable(ctx, from)
		if err != nil {
			return nil, err
		}
		m.base = base
	}
	m.heads.mu.Lock()
	defer m.heads.mu.Unlock()
	if m.heads.meta == nil {
		m.heads.meta, m.heads.location = m.base.Metadata(), m.base.MetadataLocation()
	}
	return table.New(ident, m.heads.meta, m.heads.location, m.base.FS, m), nil
}

// CommitTable implements catalog.Catalog.
func (m *memoryCatalog) CommitTable(ctx context.Context, _ table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if m.before != nil {
		if err := m.before(); err != nil {
			return nil, "", err
		}
	}
	meta, at, err := m.heads.commit(ctx, reqs, updates)
	if err == nil && m.after != nil {
		err = m.after()
	}
	return meta, at, err
}

// known reports whether there is a state of the table.
func (h *heads) known() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.meta != nil
}

func (h *heads) commit(ctx context.Context, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range reqs {
		if err := r.Validate(h.meta); err != nil {
			return nil, "", fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
		}
	}
	meta, err := table.UpdateTableMetadata(h.meta, updates, h.location)
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, "", err
	}
	h.commits++
	at := fmt.Sprintf("%s/metadata/%05d-%s.metadata.json", strings.TrimSuffix(meta.Location(), "/"), h.commits, uuid.NewString())
	if err := h.client.Put(ctx, at, text); err != nil {
		return nil, "", err
	}
	h.meta, h.location = meta, at
	return meta, at, nil
}

// errLost is the answer that an actor gets where the true one was lost.
var errLost = errors.New("connection reset")
