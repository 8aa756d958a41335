package catalogfault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
)

// Proxy stands between clients and an Iceberg REST catalog, and plays a script in its requests: statuses with the catalog's body of an error, answers
// that are lost, requests that arrive twice, old states. What another client does is done by Straight.
type Proxy struct {
	// Straight is the catalog without faults.
	Straight icecatalog.Catalog

	upstream string
	server   *httptest.Server

	mu   sync.Mutex
	play *Play
	// loads are the last states of tables, before those before their last commit; by path.
	loads, before map[string]*response
}

// response of the catalog, held in memory.
type response struct {
	status int
	header http.Header
	body   []byte
}

// NewProxy starts a proxy on loopback in front of a REST catalog at http://HOST:PORT. Close stops it.
func NewProxy(ctx context.Context, upstream string) (*Proxy, error) {
	straight, err := rest.NewCatalog(ctx, "straight", upstream)
	if err != nil {
		return nil, err
	}
	p := &Proxy{Straight: straight, upstream: upstream}
	p.Play(nil)
	p.server = httptest.NewServer(p)
	return p, nil
}

// URL is where clients find the proxy.
func (p *Proxy) URL() string { return p.server.URL }

// Close stops the proxy.
func (p *Proxy) Close() { p.server.Close() }

// Play begins to play a script, nil for none.
func (p *Proxy) Play(play *Play) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.play, p.loads, p.before = play, map[string]*response{}, map[string]*response{}
}

// requestKind is the kind of call that a request makes and the table that it concerns; "" for the configuration of clients.
func requestKind(r *http.Request) (kind string, ident table.Identifier) {
	_, path, ok := strings.Cut(r.URL.EscapedPath(), "/namespaces")
	switch {
	case strings.HasSuffix(r.URL.Path, "/tables/rename"):
		return "rename", nil
	case !ok:
		return "", nil
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		parts[i], _ = url.PathUnescape(part)
	}
	switch {
	case len(parts) == 2 && parts[1] == "register":
		return "register", nil
	case len(parts) == 2 && parts[1] == "tables" && r.Method == http.MethodPost:
		return "create", nil
	case len(parts) == 2 && parts[1] == "tables":
		return "list", nil
	case len(parts) != 3:
		return "namespace", nil
	}
	ident = append(strings.Split(parts[0], "\x1f"), parts[2])
	switch r.Method {
	case http.MethodPost:
		return "commit", ident
	case http.MethodDelete:
		return "drop", ident
	}
	return "load", ident
}

// ofNamespace reports whether a call is about a namespace, which is what is missing if something is.
func ofNamespace(kind string) bool {
	return kind == "namespace" || kind == "list" || kind == "register"
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	p.mu.Lock()
	play := p.play
	p.mu.Unlock()
	kind, ident := requestKind(r)
	do := func() *response { return p.forward(r, body) }
	if play == nil || kind == "" {
		write(w, do())
		return
	}
	ctx := context.WithoutCancel(r.Context())
	rule := play.next(kind)
	if kind == "commit" {
		p.mu.Lock()
		p.before[r.URL.Path] = p.loads[r.URL.Path]
		p.mu.Unlock()
	}
	event := func() {
		if err := another(ctx, p.Straight, rule.event, ident); err != nil {
			panic(err)
		}
	}
	var got *response
	switch rule.what {
	case "fail":
		got = failure(kind, rule)
	case "lost":
		do()
		got = failure(kind, rule)
	case "twice":
		do()
		got = do()
	case "slow":
		time.Sleep(rule.wait)
		got = do()
	case "before":
		event()
		got = do()
	case "after":
		got = do()
		event()
	default:
		got = do()
	}
	if kind == "load" && r.Method == http.MethodGet && got != nil && got.status == http.StatusOK {
		p.mu.Lock()
		if was := p.before[r.URL.Path]; rule.what == "stale" && was != nil {
			got = was
		}
		p.loads[r.URL.Path] = got
		p.mu.Unlock()
	}
	write(w, got)
}

// forward makes the request to the catalog.
func (p *Proxy) forward(r *http.Request, body []byte) *response {
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, p.upstream+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	got := &response{status: res.StatusCode, header: res.Header}
	if got.body, err = io.ReadAll(res.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	return got
}

// failure is the response of a rule that fails a request, with the body that the specification demands; nil for a broken connection.
func failure(kind string, r rule) *response {
	if r.status == 0 {
		return nil
	}
	name := exceptions[r.status]
	if ofNamespace(kind) && r.status == http.StatusNotFound {
		name = "NoSuchNamespaceException"
	}
	text := fmt.Sprintf(`{"error":{"message":"%s of the test","type":"%s","code":%d}}`, r.what, name, r.status)
	return &response{r.status, http.Header{"Content-Type": {"application/json"}}, []byte(text)}
}

// exceptions are the types of errors by status, as Apache's server names them.
var exceptions = map[int]string{
	400: "BadRequestException", 401: "NotAuthorizedException", 403: "ForbiddenException", 404: "NoSuchTableException", 409: "CommitFailedException",
	500: "CommitStateUnknownException", 503: "ServiceUnavailableException",
}

func write(w http.ResponseWriter, got *response) {
	if got == nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range got.header {
		if name != "Content-Length" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(got.status)
	_, _ = w.Write(got.body)
}
