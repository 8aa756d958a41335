package meta

import (
	"context"
	"sync"
)

// memo is a value that is loaded when first requested. A caller that comes while it is being loaded waits for that, as long
// as its own context lasts; no lock is held meanwhile. A failure is not kept: the next one to ask tries again.
type memo[T any] struct {
	mu      sync.Mutex
	loaded  bool
	loading bool // an attempt is under way
	value   T
	ended   chan struct{} // closed when that has ended, nil if nobody waits for it
}

func (m *memo[T]) get(ctx context.Context, load func() (T, error)) (T, error) {
	for {
		m.mu.Lock()
		if m.loaded {
			v := m.value
			m.mu.Unlock() // and not deferred, which in a loop is an allocation
			return v, nil
		}
		if !m.loading {
			m.loading = true
			m.mu.Unlock()
			return m.load(load)
		}
		if m.ended == nil {
			m.ended = make(chan struct{})
		}
		attempt := m.ended
		m.mu.Unlock()
		select {
		case <-attempt:
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
	}
}

// forget makes the next one the caller load the value again.
func (m *memo[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	var none T
	m.loaded, m.value = false, none
}

// load makes the attempt that get has announced.
func (m *memo[T]) load(load func() (T, error)) (v T, err error) {
	done := false
	defer func() { // also after a panic, so that nobody waits for ever
		m.mu.Lock()
		defer m.mu.Unlock()
		if done && err == nil {
			m.value, m.loaded = v, true
		}
		if m.ended != nil {
			close(m.ended)
		}
		m.loading, m.ended = false, nil
	}()
	v, err = load()
	done = true
	return v, err
}
