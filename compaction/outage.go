package compaction

import (
	"context"
	"errors"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
)

// An outage of the store fails every table. It is one event: reported once when it begins and once when it ends, at which tables that fail are due.

// probeTimeout is how long one request to the store may take to find out whether it answers.
const probeTimeout = 30 * time.Second

// isOutage reports whether an error may be that of a store, or a catalog, that is away.
func isOutage(err error) bool {
	switch blobio.Class(err) {
	case blobio.ErrTransient, blobio.ErrThrottled:
		return true
	}
	return errors.Is(err, catalog.ErrUnreachable)
}

// probeStore makes one request to the store.
func (s *Service) probeStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, err := range s.cat.Client().List(ctx, s.cat.Vault()+"/") {
		return err
	}
	return ctx.Err()
}

// outage reports whether a run failed because the store or the catalog is away. first: nobody has reported that outage yet.
func (s *Service) outage(ctx context.Context, err error) (away, first bool) {
	if !isOutage(err) {
		return false, false
	}
	s.mu.Lock()
	catalogAway, known := s.catalogAway, s.storeAway
	s.mu.Unlock()
	if catalogAway || known {
		return true, false
	}
	if s.probeStore(ctx) == nil || ctx.Err() != nil {
		return false, false // one object, or a fault that has passed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.storeAway
	s.storeAway = true
	return true, first
}

// reportStore reports the end of an outage of the store.
func (s *Service) reportStore(ctx context.Context) {
	s.mu.Lock()
	away := s.storeAway && !s.o.Now().Before(s.probed.Add(s.o.Discover))
	if away {
		s.probed = s.o.Now()
	}
	s.mu.Unlock()
	if !away || s.probeStore(ctx) != nil {
		return
	}
	s.mu.Lock()
	s.storeAway = false
	s.failingAreDue()
	s.mu.Unlock()
	s.o.Log.Info("the store is reachable again")
}

// failingAreDue makes tables that fail due at once. The caller holds the lock.
func (s *Service) failingAreDue() {
	for _, t := range s.tables {
		if t.status.State == Failing {
			t.status.NextRun = s.o.Now()
		}
	}
	s.line = nil
}

// StoreUp reports whether no outage of the store is known.
func (s *Service) StoreUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.storeAway
}
