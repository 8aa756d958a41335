package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/compaction"
)

// Options of New. The zero value is valid: read-only.
type Options struct {
	// Token allows actions to who has it; none are allowed if it is empty.
	Token string
	// Profile serves net/http/pprof below /debug/pprof/.
	Profile bool
	// Reads, if not nil, tells what became of answers with rows, for the metrics.
	Reads func() arrowhttp.Stats
	// Log gets what went wrong, slog.Default if nil.
	Log *slog.Logger
}

// Console is an http.Handler over a service and its catalog.
type Console struct {
	cat     *catalog.Catalog
	service *compaction.Service
	metrics *Metrics
	o       Options
	handler http.Handler
	// overviews of the tables that were looked at last.
	overviews overviews
}

//go:embed assets
var assets embed.FS

// pages are parsed when the first one is shown: most commands show none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/*.html"))
})

// New makes the handler. metrics are those that the service was made with.
func New(c *catalog.Catalog, s *compaction.Service, metrics *Metrics, o Options) *Console {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &Console{cat: c, service: s, metrics: metrics, o: o}
	metrics.observe(c, s, o.Reads)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.tables)
	mux.HandleFunc("GET /tables/{name}", h.table)
	mux.HandleFunc("GET /tables/{name}/shard", h.shard)
	mux.HandleFunc("POST /tables/{name}/{action}", h.act)
	mux.HandleFunc("GET /login", h.loginPage)
	mux.HandleFunc("POST /login", h.login)
	mux.HandleFunc("GET /api/tables", h.apiTables)
	mux.Handle("GET /assets/", http.FileServerFS(assets))
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", h.ready)
	if o.Profile {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	h.handler = guard(mux)
	return h
}

func (h *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

// maxBody bounds what anybody may send: a login is the longest.
const maxBody = 4 << 10

// guard sets the headers that keep a browser from being used against the page, refuses requests from other sites that change
// something, and bounds bodies.
func guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if rebound(r) {
			http.Error(w, "this server listens on loopback, and the request names another host; a proxy before it must send Host: localhost", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		crossOrigin.Handler(next).ServeHTTP(w, r)
	})
}

// rebound reports whether a request came to a loopback address under a name that is not loopback's: a page of elsewhere whose name
// was made to stand for 127.0.0.1, so that a browser lets it read the answer.
func rebound(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host != "localhost" && (err != nil || !ip.Unmap().IsLoopback())
}

// cookie holds the hash of the token, so that who reads a browser's files does not learn it.
const cookie = "shardcat"

func hashed(token string) string {
	sum := sha256.Sum256([]byte("shardcat console\x00" + token))
	return encode(sum[:])
}

// allowed reports whether a request may change something.
func (h *Console) allowed(r *http.Request) bool {
	if h.o.Token == "" {
		return false
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(hashed(bearer), hashed(h.o.Token))
	}
	c, err := r.Cookie(cookie)
	return err == nil && same(c.Value, hashed(h.o.Token))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (h *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	h.render(w, http.StatusOK, "login.html", page{Title: "Log in", ReadOnly: h.o.Token == ""})
}

// login trades the token for a cookie of this browser.
func (h *Console) login(w http.ResponseWriter, r *http.Request) {
	if h.o.Token == "" || !same(hashed(r.PostFormValue("token")), hashed(h.o.Token)) {
		time.Sleep(loginDelay)
		h.render(w, http.StatusForbidden, "login.html", page{Title: "Log in", ReadOnly: h.o.Token == "", Error: "That is not the token."})
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookie, Value: hashed(h.o.Token), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// loginDelay makes guessing slow.
const loginDelay = 300 * time.Millisecond

// act runs, pauses or resumes a table, or shows what a run would do.
func (h *Console) act(w http.ResponseWriter, r *http.Request) {
	if !h.allowed(r) {
		h.fail(w, http.StatusForbidden, "this needs the token: log in, or send it as a bearer")
		return
	}
	name, err := catalog.ParseName(r.PathValue("name"))
	if err == nil {
		switch r.PathValue("action") {
		case "run":
			err = h.service.RunNow(name)
		case "pause":
			err = h.service.Pause(name)
		case "resume":
			err = h.service.Resume(name)
		case "dry-run":
			h.dryRun(w, r)
			return
		default:
			h.fail(w, http.StatusNotFound, "there is run, dry-run, pause and resume")
			return
		}
	}
	switch {
	case errors.Is(err, compaction.ErrBusy):
		h.fail(w, http.StatusConflict, err.Error())
	case err != nil:
		h.fail(w, http.StatusNotFound, err.Error())
	default:
		http.Redirect(w, r, "/tables/"+name.String(), http.StatusSeeOther)
	}
}

// ready fails while a table is halted: somebody must look.
func (h *Console) ready(w http.ResponseWriter, _ *http.Request) {
	if h.service.Halted() {
		http.Error(w, "a table is halted", http.StatusServiceUnavailable)
		return
	}
	w.Write([]byte("ready\n"))
}

type tableJSON struct {
	Table string `json:"table"`
	compaction.TableStatus
}

func (h *Console) apiTables(w http.ResponseWriter, _ *http.Request) {
	out := []tableJSON{}
	for _, st := range h.service.Status() {
		out = append(out, tableJSON{st.Table.String(), st})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(out)
}

func (h *Console) fail(w http.ResponseWriter, code int, what string) {
	h.render(w, code, "error.html", page{Title: http.StatusText(code), Error: what})
}
