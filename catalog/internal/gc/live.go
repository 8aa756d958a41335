package gc

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/shardcat/shardcat/catalog/internal/metadataio"
)

// Live is every object that a state of the table reaches, with the first reason found.
type Live struct {
	mu sync.Mutex
	// why by canonical URL.
	why map[string]string
	// prefixes are names under which an open job writes.
	prefixes map[string]string
}

// NewLive begins without objects.
func NewLive() *Live {
	return &Live{why: map[string]string{}, prefixes: map[string]string{}}
}

// Has reports whether an object is live.
func (l *Live) Has(url string) bool { return l.Reason(url) != "" }

// Reason reports why an object is live, "" if it is not.
func (l *Live) Reason(url string) string {
	if of, ok := Checksummed(url); ok {
		url = of
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if why := l.why[metadataio.CanonicalURL(url)]; why != "" {
		return why
	}
	for prefix, why := range l.prefixes {
		if strings.HasPrefix(url, prefix) {
			return why
		}
	}
	return ""
}

// Add notes a live object and reports whether it is new.
func (l *Live) Add(url, why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	url = metadataio.CanonicalURL(url)
	if l.why[url] != "" {
		return false
	}
	l.why[url] = why
	return true
}

// AddPrefix notes a name under which an open job writes: everything that begins with it is live.
func (l *Live) AddPrefix(prefix, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefixes[prefix] = why
}

// Objects are the URLs of the live objects, without prefixes.
func (l *Live) Objects() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.why))
}
