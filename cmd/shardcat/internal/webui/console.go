package webui

import (
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/shardfmt"
)

// Options of New. The zero value is valid: read-only.
type Options struct {
	// Token allows actions to who has it; none are allowed if it is empty.
	Token string
	// ReadToken is the token without which no page is shown; Token shows them too. If it is empty, requests from this
	// machine need none and all others need Token.
	ReadToken string
	// Version of the program, for the first page.
	Version string
	// Profile serves net/http/pprof below /debug/pprof/.
	Profile bool
	// Turn waits for a slot to read what tables contain, and gives its memory; nil is no slots, and the memory of one scan.
	Turn func(*http.Request) (release func(), memory int64, err error)
	// Reads, if not nil, reports what became of answers with rows, for the metrics.
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
	tokens  access.Tokens
	handler http.Handler
	// overviews of the tables that were looked at last.
	overviews overviews
	health    checks
	history   history
	started   time.Time
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
	if o.Turn == nil {
		o.Turn = func(*http.Request) (func(), int64, error) { return func() {}, shardfmt.DefaultMaxMemory, nil }
	}
	h := &Console{cat: c, service: s, metrics: metrics, o: o, started: time.Now(), tokens: access.Tokens{Read: o.ReadToken, Write: o.Token}}
	metrics.observe(c, s, o)
	// What stands in public is served to everybody who may connect: no names of shards, no bounds, no rows.
	mux, public := http.NewServeMux(), http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.tables)
	mux.HandleFunc("GET /tables/{name}", h.inTurn(h.table))
	mux.HandleFunc("GET /tables/{name}/shard", h.inTurn(h.shard))
	mux.HandleFunc("POST /tables/{name}/{action}", h.act)
	mux.HandleFunc("GET /api/tables", h.apiTables)
	if o.Profile {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	public.Handle("/", h.reading(mux))
	public.HandleFunc("GET /login", h.loginPage)
	public.HandleFunc("POST /login", h.login)
	public.Handle("GET /assets/", http.FileServerFS(assets))
	public.Handle("GET /metrics", promhttp.HandlerFor(metrics.registry, promhttp.HandlerOpts{}))
	public.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	public.HandleFunc("GET /readyz", h.ready)
	h.handler = guard(public)
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
	return !access.LocalName(r.Host)
}

// reading serves requests that may read rows: pages show rows, bounds and plans.
func (h *Console) reading(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.tokens.MayRead(r); err != nil {
			h.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// inTurn waits for a slot, for pages that open shards or read all entries of a table.
func (h *Console) inTurn(do func(w http.ResponseWriter, r *http.Request, memory int64)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		release, memory, err := h.o.Turn(r)
		if err != nil {
			w.Header().Set("Retry-After", "5")
			h.fail(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		defer release()
		do(w, r, memory)
	}
}

// refuse answers what MayRead refuses: with the form of the login where a login helps.
func (h *Console) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusForbidden
	if refusal := (*access.Refusal)(nil); errors.As(err, &refusal) {
		status = refusal.Status
	}
	switch {
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="shardcat"`)
		h.render(w, status, "login.html", h.loginForm(err.Error()))
	case h.o.Token != "" && !access.CrossSite(r):
		h.render(w, status, "login.html", h.loginForm(err.Error()))
	default:
		h.fail(w, status, err.Error())
	}
}

// allowed reports whether a request may change something.
func (h *Console) allowed(r *http.Request) bool { return h.tokens.MayWrite(r) == nil }

func (h *Console) loginForm(problem string) page {
	return page{Title: "Log in", ReadOnly: h.tokens == access.Tokens{}, Error: problem}
}

func (h *Console) loginPage(w http.ResponseWriter, _ *http.Request) {
	h.render(w, http.StatusOK, "login.html", h.loginForm(""))
}

// login trades the token for a cookie of this browser.
func (h *Console) login(w http.ResponseWriter, r *http.Request) {
	value, ok := h.tokens.Login(r.PostFormValue("token"))
	if !ok {
		time.Sleep(loginDelay)
		h.render(w, http.StatusForbidden, "login.html", h.loginForm("Wrong token."))
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: access.Cookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// loginDelay makes guessing slow.
const loginDelay = 300 * time.Millisecond

// act runs, pauses or resumes a table, or shows what a run would do.
func (h *Console) act(w http.ResponseWriter, r *http.Request) {
	if !h.allowed(r) {
		h.fail(w, http.StatusForbidden, "missing or wrong token: log in, or send Authorization: Bearer")
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
			h.inTurn(h.dryRun)(w, r)
			return
		case "verify":
			h.inTurn(h.verify)(w, r)
			return
		case "repair-dry-run":
			h.inTurn(h.repairDryRun)(w, r)
			return
		default:
			h.fail(w, http.StatusNotFound, "unknown action: use run, dry-run, verify, repair-dry-run, pause or resume")
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

// ready fails before the catalog has been listed once. It speaks of the process: a table that is halted, or a catalog that is away for a while, takes
// neither the page nor the rows of other tables away.
func (h *Console) ready(w http.ResponseWriter, _ *http.Request) {
	if !h.service.Ready() {
		http.Error(w, "the catalog has not been listed yet", http.StatusServiceUnavailable)
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
