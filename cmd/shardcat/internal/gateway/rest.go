package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/access"
)

// prefix of the REST catalog: a client's URI is http://HOST:PORT/iceberg.
const prefix = "/iceberg"

// unit separates the levels of a namespace in paths and parameters.
const unit = "\x1f"

// restError is an error as Iceberg's REST specification has it.
type restError struct {
	status        int
	kind, message string
}

// Error implements error.
func (e *restError) Error() string { return e.message }

func writeError(w http.ResponseWriter, r *http.Request, e *restError) {
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="shardcat"`)
	}
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, r, e.status, map[string]any{"error": map[string]any{"message": e.message, "type": e.kind, "code": e.status}})
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		json.NewEncoder(w).Encode(document)
	}
}

// endpoints are what the catalog serves, as clients learn it from its configuration.
var endpoints = []string{
	"GET /v1/config",
	"GET /v1/{prefix}/namespaces",
	"GET /v1/{prefix}/namespaces/{namespace}",
	"HEAD /v1/{prefix}/namespaces/{namespace}",
	"GET /v1/{prefix}/namespaces/{namespace}/tables",
	"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
	"HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
	"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials",
	"GET /v1/{prefix}/namespaces/{namespace}/views",
	"GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
	"HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
}

type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	const v1 = prefix + "/v1"
	const namespace = v1 + "/namespaces/{namespace}"
	for pattern, h := range map[string]handler{
		"GET " + v1 + "/config":                            s.config,
		"GET " + v1 + "/namespaces":                        s.namespaces,
		"GET " + namespace:                                 s.namespace,
		"GET " + namespace + "/tables":                     s.tables,
		"GET " + namespace + "/tables/{table}":             s.table,
		"GET " + namespace + "/tables/{table}/credentials": s.tableCredentials,
		"POST " + namespace + "/tables/{table}/metrics":    accepted,
		"GET " + namespace + "/views":                      s.views0,
		"GET " + namespace + "/views/{view}":               noView,
		"POST " + v1 + "/namespaces":                       unsupported("creating a namespace"),
		"POST " + namespace + "/properties":                unsupported("changing a namespace"),
		"POST " + v1 + "/tables/rename":                    unsupported("renaming a table"),
		"POST " + v1 + "/views/rename":                     unsupported("renaming a view"),
		prefix + "/":                                       refused,
	} {
		mux.Handle(pattern, s.reading(h))
	}
	mux.HandleFunc("POST "+v1+"/oauth/tokens", s.oauth)
	return mux
}

// reading lets a request through that may read.
func (s *Server) reading(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.mayRead(r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			s.logFailure(r, err)
			writeError(w, r, restErrorOf(err))
		}
	})
}

func (s *Server) mayRead(r *http.Request) error {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && s.keys.validToken(strings.TrimSpace(token)) {
		return nil
	}
	return s.o.Tokens.MayRead(r)
}

// restErrorOf is the answer to an error.
func restErrorOf(err error) *restError {
	if e := (*restError)(nil); errors.As(err, &e) {
		return e
	}
	if refusal := (*access.Refusal)(nil); errors.As(err, &refusal) {
		kind := "ForbiddenException"
		if refusal.Status == http.StatusUnauthorized {
			kind = "NotAuthorizedException"
		}
		return &restError{refusal.Status, kind, refusal.Detail}
	}
	kind, status := classOf(err)
	return &restError{status, kind, err.Error()}
}

// refused answers what no other route does: changes, all of which are forbidden, and unknown paths.
func refused(_ http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return &restError{http.StatusNotFound, "NotFoundException", "unknown path " + strconv.Quote(r.URL.Path)}
	}
	return &restError{http.StatusForbidden, "ForbiddenException", "the catalog is read-only: tables of shards are changed by shardcat"}
}

// unsupported answers changes for which the specification has an error of their own.
func unsupported(what string) handler {
	return func(http.ResponseWriter, *http.Request) error {
		return &restError{http.StatusNotAcceptable, "UnsupportedOperationException", what + ": the catalog is read-only"}
	}
}

// accepted takes reports of scans, which are not kept.
func accepted(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) config(w http.ResponseWriter, r *http.Request) error {
	writeJSON(w, r, http.StatusOK, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}, "endpoints": endpoints})
	return nil
}

// oauth gives a token for the read token of the server as client secret, or for a token that it gave before.
func (s *Server) oauth(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	fail := func(status int, code, text string) {
		writeJSON(w, r, status, map[string]string{"error": code, "error_description": text})
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		fail(http.StatusBadRequest, "invalid_request", "not a form: "+err.Error())
		return
	}
	secret := r.PostForm.Get("client_secret")
	if _, password, ok := r.BasicAuth(); ok && secret == "" {
		if secret = password; secret != "" {
			if plain, err := url.QueryUnescape(secret); err == nil {
				secret = plain
			}
		}
	}
	switch r.PostForm.Get("grant_type") {
	case "client_credentials":
	case "urn:ietf:params:oauth:grant-type:token-exchange":
		secret = r.PostForm.Get("subject_token")
	default:
		fail(http.StatusBadRequest, "unsupported_grant_type", "client_credentials or token exchange")
		return
	}
	if !s.mayHaveToken(r, secret) {
		fail(http.StatusUnauthorized, "invalid_client", "wrong client secret: use the value of SHARDCAT_READ_TOKEN of the server")
		return
	}
	token, expires := s.keys.token()
	writeJSON(w, r, http.StatusOK, map[string]any{
		"access_token": token, "token_type": "bearer", "expires_in": int(expires.Sub(s.keys.now()).Seconds()),
		"issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
	})
}

func (s *Server) mayHaveToken(r *http.Request, secret string) bool {
	for _, token := range []string{s.o.Tokens.Read, s.o.Tokens.Write} {
		given, want := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(token))
		if token != "" && subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			return true
		}
	}
	if s.keys.validToken(secret) {
		return true
	}
	bare := r.Clone(r.Context())
	bare.Header.Del("Authorization")
	return s.o.Tokens.Read == "" && s.o.Tokens.MayRead(bare) == nil
}

// namespaceOf is the namespace in the path of a request.
func namespaceOf(r *http.Request) string {
	return strings.ReplaceAll(r.PathValue("namespace"), unit, ".")
}

func levels(namespace string) []string { return strings.Split(namespace, ".") }

func noNamespace(name string) error {
	return &restError{http.StatusNotFound, "NoSuchNamespaceException", "Namespace does not exist: " + name}
}

func noTable(name catalog.Name) error {
	return &restError{http.StatusNotFound, "NoSuchTableException", "Table does not exist: " + name.String()}
}

func noView(_ http.ResponseWriter, r *http.Request) error {
	return &restError{http.StatusNotFound, "NoSuchViewException", "View does not exist: " + namespaceOf(r) + "." + r.PathValue("view")}
}

func (s *Server) namespaces(w http.ResponseWriter, r *http.Request) error {
	all, err := s.cat.Namespaces(r.Context())
	if err != nil {
		return err
	}
	parent := strings.ReplaceAll(r.URL.Query().Get("parent"), unit, ".")
	if parent != "" && !slices.Contains(all, parent) {
		return noNamespace(parent)
	}
	var names []string
	for _, name := range all {
		rest, ok := name, true
		if parent != "" {
			rest, ok = strings.CutPrefix(name, parent+".")
		}
		if ok && !strings.Contains(rest, ".") {
			names = append(names, name)
		}
	}
	names, next, err := page(r, names)
	if err != nil {
		return err
	}
	out := [][]string{}
	for _, name := range names {
		out = append(out, levels(name))
	}
	writeJSON(w, r, http.StatusOK, paged(map[string]any{"namespaces": out}, next))
	return nil
}

// page cuts a page of sorted names, if the request names pages. The token of the next one is the last name of this one, so that a page
// is right whatever was added or removed meanwhile.
func page(r *http.Request, names []string) (part []string, next string, err error) {
	query := r.URL.Query()
	if token := query.Get("pageToken"); token != "" {
		last, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, "", &restError{http.StatusBadRequest, "BadRequestException", "invalid page token"}
		}
		at, found := slices.BinarySearch(names, string(last))
		if found {
			at++
		}
		names = names[at:]
	}
	if text := query.Get("pageSize"); text != "" {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 {
			return nil, "", &restError{http.StatusBadRequest, "BadRequestException", "invalid page size " + strconv.Quote(text)}
		}
		if size < len(names) {
			return names[:size], base64.RawURLEncoding.EncodeToString([]byte(names[size-1])), nil
		}
	}
	return names, "", nil
}

func paged(document map[string]any, next string) map[string]any {
	if next != "" {
		document["next-page-token"] = next
	}
	return document
}

func (s *Server) namespace(w http.ResponseWriter, r *http.Request) error {
	name := namespaceOf(r)
	properties, err := s.cat.NamespaceProperties(r.Context(), name)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrInvalid) {
		return noNamespace(name)
	}
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if properties == nil {
		properties = map[string]string{}
	}
	writeJSON(w, r, http.StatusOK, map[string]any{"namespace": levels(name), "properties": properties})
	return nil
}

// checkNamespace returns an error unless the namespace exists.
func (s *Server) checkNamespace(r *http.Request) error {
	_, err := s.cat.NamespaceProperties(r.Context(), namespaceOf(r))
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrInvalid) {
		return noNamespace(namespaceOf(r))
	}
	return err
}

func (s *Server) tables(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkNamespace(r); err != nil {
		return err
	}
	found, err := s.cat.Tables(r.Context(), namespaceOf(r))
	if err != nil {
		return err
	}
	var names []string
	for _, name := range found {
		names = append(names, name.Table)
	}
	names, next, err := page(r, names)
	if err != nil {
		return err
	}
	type identifier struct {
		Namespace []string `json:"namespace"`
		Name      string   `json:"name"`
	}
	identifiers := []identifier{}
	for _, name := range names {
		identifiers = append(identifiers, identifier{levels(namespaceOf(r)), name})
	}
	writeJSON(w, r, http.StatusOK, paged(map[string]any{"identifiers": identifiers}, next))
	return nil
}

func (s *Server) views0(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkNamespace(r); err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, map[string]any{"identifiers": []string{}})
	return nil
}

// load loads the table of a request.
func (s *Server) load(r *http.Request) (*catalog.Table, error) {
	name := catalog.Name{Namespace: namespaceOf(r), Table: r.PathValue("table")}
	t, err := s.cat.Load(r.Context(), name)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrInvalid) {
		return nil, noTable(name)
	}
	if err != nil {
		return nil, err
	}
	s.known.Store(t.UUID(), t.Name())
	return t, nil
}

func (s *Server) table(w http.ResponseWriter, r *http.Request) error {
	mode := r.URL.Query().Get("snapshots")
	if mode != "" && mode != "all" && mode != "refs" {
		return &restError{http.StatusBadRequest, "BadRequestException", "invalid parameter snapshots " + strconv.Quote(mode) + ": all or refs"}
	}
	release, _, err := s.o.Turn(r)
	if err != nil {
		return err
	}
	defer release()
	t, err := s.load(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	// a client that keeps its answer keeps its credentials, so after half their time it gets new ones
	sum := sha256.Sum256([]byte(t.UUID() + "\x00" + t.MetadataLocation() + "\x00" + mode + "\x00" + baseURL(r) + "\x00" +
		strconv.FormatInt(s.keys.now().Unix()/int64(validFor/time.Second/2), 10)))
	etag := `"` + hex.EncodeToString(sum[:16]) + `"`
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	metadata, location, err := s.views.Table(t).Metadata(r.Context(), mode == "refs")
	if err != nil {
		return err
	}
	credentials, prefix, err := s.storage(r, t)
	if err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, map[string]any{
		"metadata-location": location, "metadata": json.RawMessage(metadata), "config": credentials,
		"storage-credentials": []any{map[string]any{"prefix": prefix, "config": credentials}},
	})
	return nil
}

func (s *Server) tableCredentials(w http.ResponseWriter, r *http.Request) error {
	t, err := s.load(r)
	if err != nil {
		return err
	}
	credentials, prefix, err := s.storage(r, t)
	if err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, map[string]any{"storage-credentials": []any{map[string]any{"prefix": prefix, "config": credentials}}})
	return nil
}

// region is that of the read endpoint; clients need some.
const region = "us-east-1"

// storage is how a client reads the objects of a table, and the prefix of their URLs.
func (s *Server) storage(r *http.Request, t *catalog.Table) (config map[string]string, prefix string, err error) {
	c, err := s.keys.credentials(t.UUID())
	if err != nil {
		return nil, "", err
	}
	return map[string]string{
		"s3.endpoint":                         baseURL(r),
		"s3.access-key-id":                    c.accessKey,
		"s3.secret-access-key":                c.secret,
		"s3.session-token":                    c.session,
		"s3.session-token-expires-at-ms":      strconv.FormatInt(c.expires.UnixMilli(), 10),
		"s3.path-style-access":                "true",
		"s3.force-virtual-addressing":         "false",
		"s3.remote-signing-enabled":           "false",
		"s3.region":                           region,
		"client.region":                       region,
		"client.refresh-credentials-endpoint": "v1/namespaces/" + url.PathEscape(strings.Join(levels(t.Name().Namespace), unit)) + "/tables/" + url.PathEscape(t.Name().Table) + "/credentials",
	}, "s3://" + Bucket + "/" + t.UUID(), nil
}

// baseURL is how the client reached the server: a proxy that speaks TLS reports it.
func baseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}
