package arrowhttp

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Options of New. The zero value serves loopback, and appends nothing.
type Options struct {
	// ReadToken is the bearer token without which nothing is read. If it is empty, requests from this machine need none
	// and all others are refused.
	ReadToken string
	// WriteToken is the bearer token that appends; it reads too. If it is empty, nobody appends.
	WriteToken string
	// Answers is how many answers with rows, and appends, are under way at a time, DefaultAnswers if 0. Others wait in
	// line, where clients (addresses) take turns, for Patience (5 s if 0), and are refused with 503 then.
	Answers  int
	Patience time.Duration
	// TrustedProxies are the addresses of proxies and balancers, whose clients take turns by the last address of X-Forwarded-For, which
	// the proxy adds. Of others the header is ignored: a client could pose as many.
	TrustedProxies []netip.Prefix
	// MaxMemory is what the values of all answers together may take, in bytes, shardfmt.DefaultMaxMemory if 0.
	MaxMemory int64
	// Stall is the longest time that a client may take over the next 64 KiB, either way, 30 s if 0.
	Stall time.Duration
	// Log gets what ended answers early, slog.Default() if nil.
	Log *slog.Logger
}

// What Options are if they are left out: at 64 MiB for an answer, sixteen take the memory of one scan, and a client
// that takes 64 KiB in 30 s has 2 KiB/s.
const (
	DefaultAnswers  = 16
	defaultPatience = 5 * time.Second
	defaultStall    = 30 * time.Second
)

// Server is an http.Handler over a catalog, for all paths below /v1/. Safe for concurrent use.
type Server struct {
	cat     *catalog.Catalog
	o       Options
	tokens  access.Tokens
	slots   *slots
	stats   counters
	handler http.Handler
}

// New makes the handler.
func New(c *catalog.Catalog, o Options) *Server {
	o.Answers = cmp.Or(o.Answers, DefaultAnswers)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	o.MaxMemory = cmp.Or(o.MaxMemory, shardfmt.DefaultMaxMemory)
	o.Stall = cmp.Or(o.Stall, defaultStall)
	o.Log = cmp.Or(o.Log, slog.Default())
	s := &Server{cat: c, o: o, tokens: access.Tokens{Read: o.ReadToken, Write: o.WriteToken}, slots: newSlots(&o)}
	mux := http.NewServeMux()
	for pattern, h := range s.routes() {
		mux.Handle(pattern, h)
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, &problem{Status: http.StatusNotFound, Code: "not_found", Detail: r.Method + " " + r.URL.Path + ": unknown path; see /v1/openapi.json"})
	})
	s.handler = http.NewCrossOriginProtection().Handler(mux)
	return s
}

// routes are the patterns of openapi.json.
func (s *Server) routes() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /v1/{$}":                               http.HandlerFunc(page),
		"GET /v1/openapi.json":                      http.HandlerFunc(openAPI),
		"GET /v1/tables":                            s.reading(s.tables),
		"GET /v1/tables/{table}":                    s.reading(s.table),
		"GET /v1/tables/{table}/plan":               s.reading(s.plan),
		"GET /v1/tables/{table}/rows":               s.reading(s.rows),
		"POST /v1/tables/{table}/task":              s.reading(s.task),
		"POST /v1/tables/{table}/rows":              s.writing(s.append),
		"POST /v1/tables/{table}/jobs/{job}/runs":   s.writing(s.writeRun),
		"POST /v1/tables/{table}/jobs/{job}/commit": s.writing(s.commitJob),
		"DELETE /v1/tables/{table}/jobs/{job}":      s.writing(s.discardJob),
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	s.handler.ServeHTTP(w, r)
}

// handler answers a request or gives the error that is the answer.
type handler func(w http.ResponseWriter, r *http.Request) error

// reading lets those through who may read.
func (s *Server) reading(h handler) http.Handler { return s.guarded(s.tokens.MayRead, h) }

// writing lets those through who may append.
func (s *Server) writing(h handler) http.Handler { return s.guarded(s.tokens.MayWrite, h) }

func (s *Server) guarded(allowed func(*http.Request) error, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := allowed(r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			p := problemOf(err)
			if at := filter.Caret(r.URL.Query().Get("where"), err); at != "" {
				p.Detail += "\n" + at
			}
			if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
				s.o.Log.Warn("a request failed", "path", r.URL.Path, "error", err)
			}
			writeProblem(w, p)
		}
	})
}
