package blobfake

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Azure is a server of one container in memory that behaves as accounts of Azure Blob do, and proxies before them. It looks at no signature.
//
// Quirks, each NAME or NAME=VALUE: chunked-get and head-no-length (no Content-Length), cr-star (ranges without the size), short-206, no-last-modified,
// page=N, empty-page (each second page is empty), repeat-marker, list-no-mtime, list-no-size, hns (a hierarchical namespace: directories
// are listed), archived, rehydrating, leased[=CODE], immutable, legal-hold, snapshots, encrypted (by a key of the customer's), held-first (a create is refused
// by what holds the blob, before its condition is looked at), match-missing (a delete with a condition is refused by it where there is no blob), exists=CODE (of a conditional create that lost), busy=N (each N-th request is answered 503
// with Retry-After: 0).
type Azure struct {
	// URL of the server, for ?endpoint=URL/ACCOUNT; the container is c.
	URL string

	mu       sync.Mutex
	quirks   map[string]string
	blobs    map[string]azureBlob
	blocks   map[string][]byte
	requests int
	versions int
}

type azureBlob struct {
	body []byte
	etag string
	time time.Time
}

// NewAzure starts a server that lives as long as the test.
func NewAzure(t testing.TB, quirks string) *Azure {
	a := &Azure{quirks: map[string]string{}, blobs: map[string]azureBlob{}, blocks: map[string][]byte{}}
	for q := range strings.FieldsSeq(quirks) {
		name, value, _ := strings.Cut(q, "=")
		a.quirks[name] = value
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// Put adds a blob.
func (a *Azure) Put(key string, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(key, body)
}

// Blob gives the content of a blob; ok is false if there is none.
func (a *Azure) Blob(key string) (body []byte, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, ok := a.blobs[key]
	return b.body, ok
}

// Requests is the number of requests so far.
func (a *Azure) Requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

func (a *Azure) has(quirk string) bool { _, ok := a.quirks[quirk]; return ok }

func (a *Azure) store(key string, body []byte) string {
	a.versions++
	etag := fmt.Sprintf("0x8DD%09X", a.versions)
	a.blobs[key] = azureBlob{body, etag, time.Now()}
	return `"` + etag + `"`
}

// refuse answers with an error document.
func (a *Azure) refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Ms-Error-Code", code)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>as the store says</Message></Error>`, code)
}

// ServeHTTP implements http.Handler.
func (a *Azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	w.Header().Set("X-Ms-Request-Id", strconv.Itoa(a.requests))
	if n, err := strconv.Atoi(a.quirks["busy"]); err == nil && a.requests%n == 0 {
		w.Header().Set("Retry-After", "0")
		a.refuse(w, http.StatusServiceUnavailable, "ServerBusy")
		return
	}
	segments := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3) // account, container, blob
	key := ""
	if len(segments) == 3 {
		key = segments[2]
	}
	if len(segments) < 2 || segments[1] != "c" {
		a.refuse(w, http.StatusNotFound, "ContainerNotFound")
		return
	}
	switch {
	case r.URL.Query().Get("comp") == "list":
		a.list(w, r.URL.Query())
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		a.read(w, r, key)
	case r.Method == http.MethodPut:
		a.put(w, r, key, body)
	case r.Method == http.MethodDelete:
		a.remove(w, r, key)
	default:
		a.refuse(w, http.StatusMethodNotAllowed, "UnsupportedHttpVerb")
	}
}

func (a *Azure) read(w http.ResponseWriter, r *http.Request, key string) {
	b, ok := a.blobs[key]
	m := r.Header.Get("If-Match")
	switch {
	case !ok:
		a.refuse(w, http.StatusNotFound, "BlobNotFound")
		return
	case m != "" && m != `"`+b.etag+`"`:
		a.refuse(w, http.StatusPreconditionFailed, "ConditionNotMet")
		return
	case r.Method == http.MethodGet && a.tiered(w):
		return
	}
	h := w.Header()
	h.Set("ETag", `"`+b.etag+`"`)
	if !a.has("no-last-modified") {
		h.Set("Last-Modified", b.time.UTC().Format(http.TimeFormat))
	}
	part, status := b.body, http.StatusOK
	spec, ranged := strings.CutPrefix(r.Header.Get("X-Ms-Range")+r.Header.Get("Range"), "bytes=")
	if ranged {
		first, last, _ := strings.Cut(spec, "-")
		from, err := strconv.Atoi(first)
		if err != nil || from >= len(b.body) {
			a.refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
			return
		}
		to, err := strconv.Atoi(last)
		if err != nil || to >= len(b.body) {
			to = len(b.body) - 1
		}
		if a.has("short-206") {
			to = min(to, from+999)
		}
		size := strconv.Itoa(len(b.body))
		if a.has("cr-star") {
			size = "*"
		}
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", from, to, size))
		part, status = b.body[from:to+1], http.StatusPartialContent
	}
	sendPart(w, r, status, part, a.has)
}

// tiered reports whether the content of a blob was refused for its tier or its key.
func (a *Azure) tiered(w http.ResponseWriter) bool {
	switch {
	case a.has("archived"):
		a.refuse(w, http.StatusConflict, "BlobArchived")
	case a.has("rehydrating"):
		a.refuse(w, http.StatusConflict, "BlobBeingRehydrated")
	case a.has("encrypted"):
		a.refuse(w, http.StatusConflict, "BlobUsesCustomerSpecifiedEncryption")
	default:
		return false
	}
	return true
}

// held reports whether a change of a blob was refused for what holds it.
func (a *Azure) held(w http.ResponseWriter, deleted bool) bool {
	switch {
	case !deleted && a.tiered(w):
	case a.has("immutable"):
		a.refuse(w, http.StatusConflict, "BlobImmutableDueToPolicy")
	case a.has("legal-hold"):
		a.refuse(w, http.StatusConflict, "BlobImmutableDueToLegalHold")
	case a.has("leased"):
		code := a.quirks["leased"]
		if code == "" {
			code = "LeaseIdMissing"
		}
		a.refuse(w, http.StatusPreconditionFailed, code)
	case a.has("snapshots") && deleted:
		a.refuse(w, http.StatusConflict, "SnapshotsPresent")
	default:
		return false
	}
	return true
}

func (a *Azure) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	q := r.URL.Query()
	if q.Get("comp") == "block" {
		a.blocks[key+" "+q.Get("blockid")] = body
		w.WriteHeader(http.StatusCreated)
		return
	}
	if _, there := a.blobs[key]; there {
		switch {
		case a.has("held-first") && a.held(w, false):
			return
		case r.Header.Get("If-None-Match") == "*" && a.quirks["exists"] != "":
			a.refuse(w, http.StatusPreconditionFailed, a.quirks["exists"])
			return
		case r.Header.Get("If-None-Match") == "*":
			a.refuse(w, http.StatusConflict, "BlobAlreadyExists")
			return
		case a.held(w, false):
			return
		}
	}
	if q.Get("comp") == "blocklist" {
		var list struct{ Latest []string }
		if xml.Unmarshal(body, &list) != nil {
			a.refuse(w, http.StatusBadRequest, "InvalidXmlDocument")
			return
		}
		body = nil
		for _, id := range list.Latest {
			block, ok := a.blocks[key+" "+id]
			if !ok {
				a.refuse(w, http.StatusBadRequest, "InvalidBlockList")
				return
			}
			body = append(body, block...)
		}
	} else if sum, claimed := md5.Sum(body), r.Header.Get("Content-Md5"); claimed != "" && claimed != base64.StdEncoding.EncodeToString(sum[:]) {
		a.refuse(w, http.StatusBadRequest, "Md5Mismatch")
		return
	}
	w.Header().Set("ETag", a.store(key, body))
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusCreated)
}

func (a *Azure) remove(w http.ResponseWriter, r *http.Request, key string) {
	b, ok := a.blobs[key]
	switch m := r.Header.Get("If-Match"); {
	case !ok && m != "" && a.has("match-missing"):
		a.refuse(w, http.StatusPreconditionFailed, "ConditionNotMet")
	case !ok:
		a.refuse(w, http.StatusNotFound, "BlobNotFound")
	case a.held(w, true):
	case m != "" && m != `"`+b.etag+`"`:
		a.refuse(w, http.StatusPreconditionFailed, "ConditionNotMet")
	default:
		delete(a.blobs, key)
		w.WriteHeader(http.StatusAccepted)
	}
}

// list answers a page. A marker is the number of entries before it.
func (a *Azure) list(w http.ResponseWriter, q url.Values) {
	type entry struct {
		key       string
		directory bool
	}
	var all []entry
	folders := map[string]bool{}
	for key := range a.blobs {
		all = append(all, entry{key, false})
		for i := range key {
			if key[i] == '/' && a.has("hns") && !folders[key[:i]] {
				folders[key[:i]] = true
				all = append(all, entry{key[:i], true})
			}
		}
	}
	all = slices.DeleteFunc(all, func(e entry) bool { return !strings.HasPrefix(e.key, q.Get("prefix")) })
	slices.SortFunc(all, func(x, y entry) int { return strings.Compare(x.key, y.key) })
	most := 5000
	for _, v := range []string{q.Get("maxresults"), a.quirks["page"]} {
		if n, err := strconv.Atoi(v); err == nil {
			most = min(most, n)
		}
	}
	position, empty := strings.CutSuffix(q.Get("marker"), "e")
	from, _ := strconv.Atoi(position)
	to, next := min(len(all), from+most), ""
	switch {
	case a.has("empty-page") && !empty && from > 0:
		to, next = from, strconv.Itoa(from)+"e"
	case a.has("repeat-marker"):
		next = "0"
	case to < len(all):
		next = strconv.Itoa(to)
	}
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, `<?xml version="1.0"?><EnumerationResults ContainerName="c"><Blobs>`)
	for _, e := range all[from:to] {
		b := a.blobs[e.key]
		if e.directory {
			b = azureBlob{nil, "0x8DDDIR", time.Now()}
		}
		fmt.Fprint(w, "<Blob><Name>")
		_ = xml.EscapeText(w, []byte(e.key))
		fmt.Fprint(w, "</Name><Properties>")
		if !a.has("list-no-mtime") || e.directory {
			fmt.Fprintf(w, "<Last-Modified>%s</Last-Modified>", b.time.UTC().Format(http.TimeFormat))
		}
		if e.directory {
			fmt.Fprint(w, "<ResourceType>directory</ResourceType>")
		}
		if !a.has("list-no-size") || e.directory {
			fmt.Fprintf(w, "<Content-Length>%d</Content-Length>", len(b.body))
		}
		fmt.Fprintf(w, "<Etag>%s</Etag><BlobType>BlockBlob</BlobType></Properties></Blob>", b.etag)
	}
	fmt.Fprintf(w, "</Blobs><NextMarker>%s</NextMarker></EnumerationResults>", next)
}
