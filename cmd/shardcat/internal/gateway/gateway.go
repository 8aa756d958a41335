package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway/view"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/urlresolve"
)

// Options of New.
type Options struct {
	// Tokens of the server. What makes tokens, credentials and names follows from them.
	Tokens access.Tokens
	// Open shows shards as Parquet files.
	Open view.OpenShard
	// CacheBytes bounds what is kept of manifests and of layouts of data files.
	CacheBytes int64
	// Turn waits for a slot, which answers with rows share; see arrowhttp.Server.Turn.
	Turn func(r *http.Request) (release func(), memory int64, err error)
	Log  *slog.Logger
}

// Server serves the tables of a catalog to Iceberg engines. Safe for concurrent use.
type Server struct {
	cat   *catalog.Catalog
	o     Options
	keys  keys
	views *view.Views
	// known are the names of tables by their UUIDs, as they were when they were last loaded.
	known sync.Map
	mux   *http.ServeMux
}

// New makes a server.
func New(c *catalog.Catalog, o Options) *Server {
	s := &Server{cat: c, o: o, keys: newKeys(o.Tokens, c.Now)}
	s.views = view.New(c, view.Options{Bucket: Bucket, Key: s.keys.mac("names", ""), Open: o.Open, CacheBytes: o.CacheBytes})
	s.mux = s.routes()
	return s
}

// Register adds the routes of the server to a mux.
func (s *Server) Register(mux *http.ServeMux) {
	for _, path := range []string{prefix + "/", "/" + Bucket, "/" + Bucket + "/"} {
		mux.Handle(path, s)
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/"+Bucket || strings.HasPrefix(r.URL.Path, "/"+Bucket+"/") {
		s.serveS3(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) logFailure(r *http.Request, err error) {
	if status := restErrorOf(err).status; status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
		s.o.Log.Warn("gateway: request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
}

// classes are the answers that errors become, the first that fits.
var classes = []struct {
	err    error
	status int
	name   string
}{
	{context.Canceled, http.StatusServiceUnavailable, "ServiceUnavailableException"},
	{arrowhttp.ErrBusy, http.StatusServiceUnavailable, "SlowDownException"},
	{view.ErrNoObject, http.StatusNotFound, "NotFoundException"},
	{catalog.ErrInvalid, http.StatusBadRequest, "BadRequestException"},
	{urlresolve.ErrRefused, http.StatusForbidden, "ForbiddenException"},
	{catalog.ErrUnsafe, http.StatusForbidden, "ForbiddenException"},
	{catalog.ErrNotFound, http.StatusNotFound, "NotFoundException"},
	{catalog.ErrUnreachable, http.StatusServiceUnavailable, "ServiceUnavailableException"},
	{blobio.ErrNotFound, http.StatusNotFound, "NotFoundException"},
	{corrupt.ErrUnsupported, http.StatusNotImplemented, "UnsupportedOperationException"},
}

// classOf is the type of an error as Iceberg's clients know it, and its status.
func classOf(err error) (name string, status int) {
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.name, c.status
		}
	}
	return "InternalServerError", http.StatusInternalServerError
}
