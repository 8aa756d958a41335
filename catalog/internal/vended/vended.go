// Package vended opens stores by the storage credentials that a REST catalog hands out.
//
// A REST catalog may hand out storage credentials with a table: by location (storage-credentials), or for the table (config).
// They open the table's folders and nothing else: another table of the same bucket has its own. iceberg-go requests them and
// gives them to an IO of its own, which is not used here, so they are read from the responses on their way to it.
//
// The shards of a table lie in the vault, outside of its location. The environment's credentials are used there as long as the
// store accepts them, then those of the table.
package vended

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/urlresolve"
)

// Keys remembers the storage credentials that a REST catalog hands out.
type Keys struct {
	base  http.RoundTripper
	place bool // see New
	now   func() time.Time

	mu sync.Mutex
	// tables by UUID.
	tables map[string]*tableKeys
	// warned means that remote signing was named.
	warned bool
}

// tableKeys is what came with a table.
type tableKeys struct {
	// config holds for the whole table, prefixes for locations.
	config   map[string]string
	prefixes map[string]map[string]string
	noted    time.Time
	// renewing lets one load be under way at a time.
	renewing chan struct{}
}

// New reads credentials from the responses to requests through base. place: the warehouse is a URL, which the environment's credentials
// open as long as the store accepts them.
func New(base http.RoundTripper, place bool, now func() time.Time) *Keys {
	return &Keys{base: base, place: place, now: now, tables: map[string]*tableKeys{}}
}

// RoundTrip implements http.RoundTripper. The body of a response is in memory (catalog/internal/resthttp).
func (v *Keys) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := v.base.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(r.URL.Path, "/tables") {
		return resp, err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", r.URL.Path, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	if bytes.Contains(text, []byte(`"storage-credentials"`)) || bytes.Contains(text, []byte(`"config"`)) {
		v.note(text)
	}
	return resp, nil
}

// note learns from a response that has a table; of others it learns nothing.
func (v *Keys) note(text []byte) {
	var answer struct {
		Metadata struct {
			UUID string `json:"table-uuid"`
		} `json:"metadata"`
		Config map[string]string `json:"config"`
		Keys   []struct {
			Prefix string            `json:"prefix"`
			Config map[string]string `json:"config"`
		} `json:"storage-credentials"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.Metadata.UUID == "" {
		return
	}
	prefixes := map[string]map[string]string{}
	for _, k := range answer.Keys {
		prefixes[canonicalPrefix(k.Prefix)] = k.Config
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.tables[answer.Metadata.UUID]
	if t == nil {
		t = &tableKeys{renewing: make(chan struct{}, 1)}
		v.tables[answer.Metadata.UUID] = t
	}
	t.config, t.prefixes, t.noted = answer.Config, prefixes, v.now()
}

// canonicalPrefix spells the prefix of credentials as locations are spelled. A prefix may be a scheme alone.
func canonicalPrefix(prefix string) string {
	scheme, rest, ok := strings.Cut(prefix, "://")
	if !ok {
		scheme = strings.TrimSuffix(scheme, ":")
	}
	if alias := map[string]string{"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "abfss", "wasbs": "abfss"}[scheme]; alias != "" {
		scheme = alias
	}
	if !ok || rest == "" {
		return scheme
	}
	if at, err := urlresolve.Parse(strings.TrimSuffix(prefix, "/") + "/"); err == nil {
		return strings.TrimSuffix(at.String(), "/")
	}
	return scheme + "://" + strings.TrimSuffix(rest, "/")
}

// below reports whether a location lies at or below a prefix: "s3://b/t" is none of "s3://b/t2".
func below(location, prefix string) bool {
	rest, ok := strings.CutPrefix(location, prefix)
	return ok && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, "://"))
}

// of are the credentials for a location: those of the longest prefix, else those of the table, nil if there are none.
func (v *Keys) of(uuid, location string) (keys map[string]string, noted time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.tables[uuid]
	if t == nil {
		return nil, time.Time{}
	}
	longest := -1
	for prefix, k := range t.prefixes {
		if len(prefix) > longest && below(location, prefix) && hasKeys(k) {
			keys, longest = k, len(prefix)
		}
	}
	if keys == nil && hasKeys(t.config) {
		keys = t.config
	}
	return keys, t.noted
}

// any are credentials of a table for some location in a bucket, for its shards where no prefix holds them.
func (v *Keys) any(uuid, location string) (keys map[string]string, noted time.Time) {
	if keys, noted = v.of(uuid, location); keys != nil {
		return keys, noted
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	t, best := v.tables[uuid], ""
	if t == nil {
		return nil, time.Time{}
	}
	for prefix, k := range t.prefixes {
		if hasKeys(k) && below(prefix, rootOf(location)) && (keys == nil || prefix < best) {
			keys, best = k, prefix
		}
	}
	return keys, t.noted
}

// rootOf is the bucket of a location, without a trailing slash.
func rootOf(location string) string {
	at, err := urlresolve.Parse(location)
	if err != nil {
		return location
	}
	return strings.TrimSuffix(at.Root(), "/")
}

// keyNames begin the names of credentials that are used.
var keyNames = []string{"s3.access-key-id", "adls.sas-token", "gcs.oauth2.token"}

// hasKeys reports whether a configuration holds credentials.
func hasKeys(config map[string]string) bool {
	for key, value := range config {
		for _, name := range keyNames {
			if value != "" && (key == name || strings.HasPrefix(key, name+".")) {
				return true
			}
		}
	}
	return false
}

const (
	// renewEarly is how long before their end credentials are renewed, and a tenth of their life if that is shorter.
	renewEarly = time.Minute
	// unsaidLife is how long credentials hold whose end is not reported: less than the shortest session of AWS.
	unsaidLife = 10 * time.Minute
	// renewPause is how long refused credentials are not renewed again.
	renewPause = 5 * time.Second
)

// ends is when credentials end, as far as it is reported.
func ends(keys map[string]string) (end time.Time) {
	for key, value := range keys {
		if key != "s3.session-token-expires-at-ms" && key != "expiration-time" && key != "gcs.oauth2.token-expires-at" &&
			key != "adls.sas-token-expires-at-ms" && !strings.HasPrefix(key, "adls.sas-token-expires-at-ms.") {
			continue
		}
		if ms, err := strconv.ParseInt(value, 10, 64); err == nil && ms > 0 && (end.IsZero() || time.UnixMilli(ms).Before(end)) {
			end = time.UnixMilli(ms)
		}
	}
	return end
}

// stale reports whether credentials are to be renewed before they are used.
func stale(keys map[string]string, noted, now time.Time) bool {
	end := ends(keys)
	if end.IsZero() {
		return now.Sub(noted) >= unsaidLife
	}
	return end.Sub(now) < min(renewEarly, end.Sub(noted)/10)
}

// keysFor are the credentials of one table: find gives those of a location, load loads the table again, so that its credentials are noted.
type keysFor struct {
	*Keys
	uuid string
	find func(uuid, location string) (keys map[string]string, noted time.Time)
	load func(context.Context) error
}

// renew loads the table again unless its credentials were noted since.
func (v keysFor) renew(ctx context.Context, since time.Time) error {
	v.mu.Lock()
	t := v.tables[v.uuid]
	v.mu.Unlock()
	select {
	case t.renewing <- struct{}{}:
		defer func() { <-t.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	v.mu.Lock()
	renewed := t.noted.After(since)
	v.mu.Unlock()
	if renewed {
		return nil
	}
	return v.load(ctx)
}

// credentials are those of a location, renewed before they end.
func (v keysFor) credentials(location string) blobio.Credentials {
	return func(ctx context.Context) (map[string]string, time.Time, error) {
		keys, noted := v.find(v.uuid, location)
		if keys != nil && stale(keys, noted, v.now()) {
			if err := v.renew(ctx, noted); err != nil {
				return nil, time.Time{}, fmt.Errorf("asking the catalog for new storage credentials: %w", err)
			}
			keys, _ = v.find(v.uuid, location)
		}
		return keys, ends(keys), nil
	}
}

// Stores are where the files of tables lie.
type Stores struct {
	// Metadata reaches Iceberg's files, shards the vault.
	Metadata, Shards *blobio.Client
	Vault            string
	Log              *slog.Logger
}

// Mount opens the folders of a table, and its shards in the vault, by the credentials that came with it. load loads the table again.
func (v *Keys) Mount(ctx context.Context, s Stores, t *table.Table, load func(context.Context) error) {
	uuid := t.Metadata().TableUUID().String()
	folders := map[string][]string{} // by bucket
	for _, folder := range []string{t.Location(), path.Dir(t.MetadataLocation()), t.Properties()["write.metadata.path"]} {
		folder = canonicalFolder(folder)
		if keys, _ := v.of(uuid, folder); keys != nil {
			folders[rootOf(folder)] = append(folders[rootOf(folder)], folder)
		}
	}
	for _, in := range folders {
		keysFor{v, uuid, v.of, load}.scope(ctx, s.Metadata, in, v.place, s.Log)
	}
	vault := s.Vault + "/" + uuid
	if keys, _ := v.any(uuid, vault); keys != nil && sameKind(keys, vault) {
		keysFor{v, uuid, v.any, load}.scope(ctx, s.Shards, []string{vault, s.Vault}, true, s.Log)
	}
	v.nameRemoteSigning(uuid, len(folders) > 0, s.Log)
}

// canonicalFolder is a folder as scopes have it, "" for none.
func canonicalFolder(folder string) string {
	scheme, rest, ok := strings.Cut(folder, ":/") // path.Dir makes one slash of two
	if !ok || rest == "" {
		return ""
	}
	at, err := urlresolve.Parse(icebergaccess.Canonical(scheme+"://"+strings.TrimLeft(rest, "/")) + "/")
	if err != nil {
		return ""
	}
	return strings.TrimRight(at.String(), "/")
}

// sameKind reports whether credentials are of the kind that a location needs.
func sameKind(keys map[string]string, location string) bool {
	scheme, _, _ := strings.Cut(location, "://")
	name := map[string]string{"s3": "s3.access-key-id", "gs": "gcs.oauth2.token", "abfss": "adls.sas-token"}[scheme]
	for key := range keys {
		if name != "" && (key == name || strings.HasPrefix(key, name+".")) {
			return true
		}
	}
	return false
}

// scope opens folders of one bucket.
func (v keysFor) scope(ctx context.Context, client *blobio.Client, folders []string, fallback bool, log *slog.Logger) {
	keys, _ := v.find(v.uuid, folders[0])
	if !sameKind(keys, folders[0]) {
		return
	}
	err := client.AddScope(ctx, blobio.Scope{
		Folders: folders, Options: storeOptions(keys, folders[0]), Fallback: fallback,
		Credentials: v.credentials(folders[0]),
		Renew: func(ctx context.Context) bool {
			before, noted := v.find(v.uuid, folders[0])
			if v.now().Sub(noted) < renewPause || v.renew(ctx, noted) != nil {
				return false
			}
			now, _ := v.find(v.uuid, folders[0])
			return !maps.Equal(before, now)
		},
	})
	if err != nil { // who reads there meets the cause; the table is loaded all the same
		log.Debug("a location can't be opened with the credentials vended by the catalog", "location", folders[0], "error", err)
	}
}

// storeOptions are the options of a bucket that came with its credentials.
func storeOptions(keys map[string]string, location string) url.Values {
	options := url.Values{}
	names := map[string][]string{}
	switch {
	case strings.HasPrefix(location, "s3://"):
		names = map[string][]string{"region": {"s3.region", "client.region"}, "endpoint": {"s3.endpoint"}, "use_path_style": {"s3.path-style-access"}}
	case strings.HasPrefix(location, "gs://"):
		names = map[string][]string{"endpoint": {"gcs.service.host"}, "user_project": {"gcs.user-project"}}
	}
	for name, all := range names {
		for _, key := range all {
			if value := keys[key]; value != "" && options.Get(name) == "" {
				options.Set(name, value)
			}
		}
	}
	return options
}

// nameRemoteSigning states once that a catalog wants requests to be signed by itself, which is not done: they go by the
// environment's credentials.
func (v *Keys) nameRemoteSigning(uuid string, keys bool, log *slog.Logger) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.tables[uuid]
	if keys || v.warned || v.place || t == nil || !wantsRemoteSigning(t) {
		return
	}
	v.warned = true
	log.Warn("the catalog offers remote signing (s3.remote-signing-enabled) and vends no credentials; shardcat does not support remote signing, "+
		"requests are signed by the environment's credentials", "advice", "configure the catalog to vend credentials, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}

func wantsRemoteSigning(t *tableKeys) bool {
	on := func(config map[string]string) bool {
		return strings.EqualFold(config["s3.remote-signing-enabled"], "true")
	}
	for _, config := range t.prefixes {
		if on(config) {
			return true
		}
	}
	return on(t.config)
}
