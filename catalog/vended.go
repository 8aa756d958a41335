package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/urlresolve"
)

// vendedKeys listens to what a REST catalog answers and remembers the storage credentials that it hands out with tables.
// iceberg-go asks for them and gives them to an IO of its own, which is not used here.
type vendedKeys struct {
	base http.RoundTripper
	mu   sync.Mutex
	// byPrefix of locations.
	byPrefix map[string]vended
	// mounted are the buckets that were opened by such keys.
	mounted map[string]bool
}

// vended are keys by Iceberg's names, and when they end.
type vended struct {
	keys    map[string]string
	expires time.Time
}

func newVendedKeys(base http.RoundTripper) *vendedKeys {
	return &vendedKeys{base: base, byPrefix: map[string]vended{}, mounted: map[string]bool{}}
}

// RoundTrip implements http.RoundTripper.
func (v *vendedKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := v.base.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(r.URL.Path, "/tables") {
		return resp, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, metadataLimit+1))
	if err = errors.Join(err, resp.Body.Close()); err == nil && len(text) > metadataLimit {
		err = fmt.Errorf("the answer has more than %d bytes", metadataLimit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.URL.Path, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	v.note(text)
	return resp, nil
}

// note learns from an answer that has a table; of others it learns nothing.
func (v *vendedKeys) note(text []byte) {
	var answer struct {
		Location string            `json:"metadata-location"`
		Config   map[string]string `json:"config"`
		Keys     []struct {
			Prefix string            `json:"prefix"`
			Config map[string]string `json:"config"`
		} `json:"storage-credentials"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if at, err := urlresolve.Parse(canonical(answer.Location)); err == nil && hasKeys(answer.Config) {
		v.byPrefix[at.Root()] = vendedOf(answer.Config)
	}
	for _, k := range answer.Keys {
		v.byPrefix[k.Prefix] = vendedOf(k.Config)
	}
}

// hasKeys reports whether a table's configuration holds credentials.
func hasKeys(config map[string]string) bool {
	for key := range config {
		if key == "s3.access-key-id" || slices.ContainsFunc(unusedKeys, func(unused string) bool { return strings.HasPrefix(key, unused) }) {
			return true
		}
	}
	return false
}

func vendedOf(keys map[string]string) vended {
	out := vended{keys: keys}
	for _, name := range []string{"s3.session-token-expires-at-ms", "expiration-time"} {
		if ms, err := strconv.ParseInt(keys[name], 10, 64); err == nil {
			out.expires = time.UnixMilli(ms)
		}
	}
	return out
}

// of gives the keys of a location: those of the longest prefix.
func (v *vendedKeys) of(location string) (found vended, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	longest := -1
	for prefix, keys := range v.byPrefix {
		if strings.HasPrefix(location, prefix) && len(prefix) > longest {
			found, longest = keys, len(prefix)
		}
	}
	return found, longest >= 0
}

// unusedKeys begin the names of credentials that iceberg-go knows and this package does not use: those of Azure and of Google.
var unusedKeys = []string{"adls.sas-token.", "gcs.oauth2.token"}

// nameUnused says once for a bucket that the keys which came for it are not used. The bucket is opened with the environment's, if
// there are any: a catalog may hand out keys to clients that have some of their own.
func (v *vendedKeys) nameUnused(root, location string, log *slog.Logger) {
	found, ok := v.of(location)
	v.mu.Lock()
	defer v.mu.Unlock()
	if !ok || v.mounted[root] {
		return
	}
	for key := range found.keys {
		for _, unused := range unusedKeys {
			if strings.HasPrefix(key, unused) {
				log.Warn("the catalog hands out credentials of a kind that is not used; requests go with those of the environment",
					"credentials", strings.TrimSuffix(unused, "."), "bucket", root)
				v.mounted[root] = true
				return
			}
		}
	}
}

// expiresSoon is how long before their end keys are asked for anew.
const expiresSoon = time.Minute

// mount opens the bucket of a table's metadata with the keys that came with the table, if any did. load asks for the table again.
func (v *vendedKeys) mount(ctx context.Context, client *blobio.Client, t *table.Table, log *slog.Logger, load func(context.Context) error) error {
	location := canonical(t.MetadataLocation())
	at, err := urlresolve.Parse(location)
	if err != nil {
		return err
	}
	if at.Scheme != "s3" {
		v.nameUnused(at.Root(), location, log)
		return nil
	}
	first, ok := v.of(location)
	v.mu.Lock()
	defer v.mu.Unlock()
	if !ok || first.keys["s3.access-key-id"] == "" || v.mounted[at.Root()] {
		return nil
	}
	credentials := func(ctx context.Context) (map[string]string, time.Time, error) {
		now, _ := v.of(location)
		if !now.expires.IsZero() && time.Until(now.expires) < expiresSoon {
			if err := load(ctx); err != nil {
				return nil, time.Time{}, fmt.Errorf("asking the catalog for new storage credentials: %w", err)
			}
			now, _ = v.of(location)
		}
		return now.keys, now.expires, nil
	}
	options := url.Values{}
	for name, iceberg := range map[string][]string{"region": {"s3.region", "client.region"}, "endpoint": {"s3.endpoint"}} {
		for _, key := range iceberg {
			if value := first.keys[key]; value != "" && options.Get(name) == "" {
				options.Set(name, value)
			}
		}
	}
	if style := first.keys["s3.path-style-access"]; style != "" {
		options.Set("use_path_style", style)
	}
	_, err = client.Mount(blobio.WithCredentials(ctx, credentials), at.Root()+"?"+options.Encode())
	v.mounted[at.Root()] = err == nil
	return err
}
