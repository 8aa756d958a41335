package blobfake

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net"
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

// S3 is a bucket in memory behind the protocol of S3, on loopback, with the quirks of real stores. It accepts every bucket
// name and does not check signatures. The quirks are words, "chunked-get page=2": see where Has and Value are called.
type S3 struct {
	// URL of the server, for ?endpoint=.
	URL string

	mu       sync.Mutex
	quirks   map[string]string
	objects  map[string]S3Object
	uploads  map[string]map[int][]byte
	requests []S3Request
	counts   map[string]int
	times    map[string]int // of requests of a kind for a key
	before   func(w http.ResponseWriter, r *http.Request, kind string, n int) bool
}

// S3Object is an object as the server holds it.
type S3Object struct {
	Body    []byte
	ETag    string // without quotes
	ModTime time.Time
	Header  http.Header // of the request that made it
}

// S3Request is a request as the server saw it.
type S3Request struct {
	// Kind is get, head, list, put, begin, part, partcopy, complete, abort or delete.
	Kind   string
	Key    string
	Query  url.Values
	Header http.Header
}

// NewS3 starts a server that lives as long as the test.
func NewS3(t testing.TB, quirks string) *S3 {
	s := &S3{objects: map[string]S3Object{}, uploads: map[string]map[int][]byte{}, counts: map[string]int{}, times: map[string]int{}}
	s.SetQuirks(quirks)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// SetQuirks replaces the quirks.
func (s *S3) SetQuirks(quirks string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quirks = map[string]string{}
	for q := range strings.FieldsSeq(quirks) {
		name, value, _ := strings.Cut(q, "=")
		s.quirks[name] = value
	}
}

// Before sets a function that may answer a request in the server's place: the n-th of its kind, counted from 1.
func (s *S3) Before(f func(w http.ResponseWriter, r *http.Request, kind string, n int) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Put adds an object.
func (s *S3) Put(key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(key, body, nil)
}

// Object gives an object; ok is false if there is none.
func (s *S3) Object(key string) (o S3Object, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok = s.objects[key]
	return o, ok
}

// Keys gives the keys of all objects in order.
func (s *S3) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys("")
}

// Requests gives the requests of a kind, of all kinds if it is empty.
func (s *S3) Requests(kind string) (out []S3Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if kind == "" || r.Kind == kind {
			out = append(out, r)
		}
	}
	return out
}

// Uploads is how many uploads in parts are open.
func (s *S3) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

func (s *S3) keys(prefix string) (keys []string) {
	for key := range s.objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s *S3) store(key string, body []byte, h http.Header) string {
	sum := md5.Sum(body)
	etag := hex.EncodeToString(sum[:])
	s.objects[key] = S3Object{Body: body, ETag: etag, ModTime: time.Now(), Header: h}
	return etag
}

func (s *S3) has(quirk string) bool { _, ok := s.quirks[quirk]; return ok }

// etag prints an ETag in the way of the quirks for answers of a kind.
func (s *S3) etag(e, where string) string {
	in := func(quirk string) bool { return slices.Contains(strings.Split(s.quirks[quirk], "+"), where) }
	switch {
	case in("etag-none"):
		return ""
	case in("etag-bare"):
		return e
	case in("etag-weak"):
		return `W/"` + e + `"`
	case in("etag-upper"):
		return `"` + strings.ToUpper(e) + `"`
	case in("etag-gzip"):
		return `"` + e + `-gzip"`
	}
	return `"` + e + `"`
}

// s3Kind is what a request names.
func s3Kind(r *http.Request, key string) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && key == "":
		return "list"
	case r.Method == http.MethodPut && q.Has("partNumber") && r.Header.Get("X-Amz-Copy-Source") != "":
		return "partcopy"
	case r.Method == http.MethodPut && q.Has("partNumber"):
		return "part"
	case r.Method == http.MethodPost && q.Has("uploads"):
		return "begin"
	case r.Method == http.MethodPost:
		return "complete"
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		return "abort"
	}
	return strings.ToLower(r.Method)
}

// ServeHTTP implements http.Handler.
func (s *S3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	kind := s3Kind(r, key)
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.counts[kind]++
	n, before := s.counts[kind], s.before
	s.requests = append(s.requests, S3Request{Kind: kind, Key: key, Query: r.URL.Query(), Header: r.Header.Clone()})
	s.mu.Unlock()
	if before != nil && before(w, r, kind, n) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skewed(w, r) {
		return
	}
	call := s3Call{kind, key, body, n}
	switch fault := s.fault(kind, key, r.URL.Query()); fault {
	case "":
		s.answer(w, r, call)
	case "reset":
		drop(w)
	case "lost":
		s.answer(httptest.NewRecorder(), r, call)
		drop(w)
	default:
		status, _ := strconv.Atoi(fault)
		s.Refuse(w, status, map[int]string{429: "TooManyRequests", 500: "InternalError", 503: "SlowDown"}[status], "")
	}
}

// fault is that of the quirk passing (a status, reset, or lost: done without an answer) for the first and the third request of a
// kind for a key.
func (s *S3) fault(kind, key string, q url.Values) string {
	if !s.has("passing") {
		return ""
	}
	id := kind + " " + key + " " + q.Get("partNumber")
	s.times[id]++
	if n := s.times[id]; n != 1 && n != 3 {
		return ""
	}
	return s.quirks["passing"]
}

// drop breaks the connection in the place of an answer.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// skewed sets the store's clock by the quirk skew, in seconds, and refuses what was signed at another time, as S3 does from
// 15 minutes on.
func (s *S3) skewed(w http.ResponseWriter, r *http.Request) bool {
	seconds, err := strconv.Atoi(s.quirks["skew"])
	if err != nil {
		return false
	}
	now := time.Now().Add(time.Duration(seconds) * time.Second)
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err == nil && signed.Sub(now).Abs() <= 15*time.Minute {
		return false
	}
	s.Refuse(w, http.StatusForbidden, "RequestTimeTooSkewed", "")
	return true
}

// s3Call is what a request names: the n-th of its kind.
type s3Call struct {
	kind, key string
	body      []byte
	n         int
}

// answer does what a request names.
func (s *S3) answer(w http.ResponseWriter, r *http.Request, c s3Call) {
	switch key, body := c.key, c.body; c.kind {
	case "get", "head":
		s.read(w, r, key)
	case "list":
		s.list(w, r.URL.Query())
	case "put":
		s.put(w, r, key, body)
	case "begin":
		if s.has("no-multipart") {
			s.Refuse(w, http.StatusNotImplemented, "NotImplemented", "")
			return
		}
		id := fmt.Sprintf("upload-%d", c.n)
		s.uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case "part":
		s.part(w, r, body)
	case "partcopy":
		s.partCopy(w, r, body)
	case "complete":
		s.complete(w, r, key, body)
	case "abort":
		delete(s.uploads, r.URL.Query().Get("uploadId"))
		w.WriteHeader(http.StatusNoContent)
	case "delete":
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	}
}

// Refuse answers with an error document.
func (s *S3) Refuse(w http.ResponseWriter, status int, code, more string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the store says</Message>%s</Error>", code, more)
}

func (s *S3) read(w http.ResponseWriter, r *http.Request, key string) {
	o, ok := s.objects[key]
	if !ok {
		s.Refuse(w, http.StatusNotFound, "NoSuchKey", "")
		return
	}
	if m := r.Header.Get("If-Match"); m != "" && m != `"`+o.ETag+`"` {
		s.Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "")
		return
	}
	h := w.Header()
	if e := s.etag(o.ETag, strings.ToLower(r.Method)); e != "" {
		h.Set("ETag", e)
	}
	if !s.has("no-last-modified") {
		h.Set("Last-Modified", o.ModTime.UTC().Format(http.TimeFormat))
	}
	if s.has("iso-last-modified") {
		h.Set("Last-Modified", o.ModTime.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	part, status, ok := s.ranged(w, r, o.Body)
	if !ok {
		return
	}
	if r.Method == http.MethodHead && s.has("head-405") {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	sendPart(w, r, status, part, s.has)
}

// ranged gives what a request names of an object; ok is false if the request was answered.
func (s *S3) ranged(w http.ResponseWriter, r *http.Request, body []byte) (part []byte, status int, ok bool) {
	spec, ranged := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	if !ranged || s.has("ignore-range") {
		return body, http.StatusOK, true
	}
	first, last, _ := strings.Cut(spec, "-")
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	switch {
	case first == "":
		from, to = max(0, len(body)-to), len(body)-1
	case err1 != nil:
		s.Refuse(w, http.StatusBadRequest, "InvalidArgument", "")
		return nil, 0, false
	case err2 != nil || to >= len(body):
		to = len(body) - 1
	}
	if from >= len(body) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(body)))
		s.Refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "")
		return nil, 0, false
	}
	if s.has("short-206") {
		to = min(to, from+999)
	}
	size := strconv.Itoa(len(body))
	if s.has("cr-star") {
		size = "*"
	}
	if !s.has("cr-missing") {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", from, to, size))
	}
	return body[from : to+1], http.StatusPartialContent, true
}

// taken answers a create under a condition; it is false where the create goes on.
func (s *S3) taken(w http.ResponseWriter, r *http.Request, key, kind string) bool {
	if r.Header.Get("If-None-Match") == "" {
		return false
	}
	mode := s.quirks["inm-"+kind]
	if mode == "" {
		mode = s.quirks["inm"]
	}
	_, there := s.objects[key]
	switch {
	case mode == "ignore":
		return false
	case mode == "501":
		s.Refuse(w, http.StatusNotImplemented, "NotImplemented", "")
	case mode == "400":
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "<Error><Code>InvalidArgument</Code><Message>A header you provided implies functionality that is not implemented</Message></Error>")
	case !there:
		return false
	case mode == "409oss":
		s.Refuse(w, http.StatusConflict, "FileAlreadyExists", "")
	default:
		s.Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "")
	}
	return true
}

func (s *S3) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	if sum, claimed := md5.Sum(body), r.Header.Get("Content-Md5"); claimed != "" && claimed != base64.StdEncoding.EncodeToString(sum[:]) && !s.has("no-md5-check") {
		switch s.quirks["digest-error"] {
		case "bare":
			w.WriteHeader(http.StatusBadRequest)
		case "html":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<html><body><h1>400</h1></body></html>")
		default:
			s.Refuse(w, http.StatusBadRequest, "BadDigest", "")
		}
		return
	}
	if s.taken(w, r, key, "put") {
		return
	}
	w.Header().Set("ETag", s.etag(s.store(key, body, r.Header.Clone()), "put"))
}

func (s *S3) upload(w http.ResponseWriter, r *http.Request) (parts map[int][]byte, number int, ok bool) {
	parts, ok = s.uploads[r.URL.Query().Get("uploadId")]
	number, _ = strconv.Atoi(r.URL.Query().Get("partNumber"))
	if !ok {
		s.Refuse(w, http.StatusNotFound, "NoSuchUpload", "")
	}
	return parts, number, ok
}

func (s *S3) part(w http.ResponseWriter, r *http.Request, body []byte) {
	if parts, n, ok := s.upload(w, r); ok {
		parts[n] = body
		sum := md5.Sum(body)
		w.Header().Set("ETag", s.etag(hex.EncodeToString(sum[:]), "part"))
	}
}

// partCopy copies in the way of the quirk partcopy: a status, norange (copies all), shift (copies other bytes of the same
// length), short, ignore (takes it for an empty part), 200err (an error inside an answer 200).
func (s *S3) partCopy(w http.ResponseWriter, r *http.Request, body []byte) {
	mode := s.quirks["partcopy"]
	if status, err := strconv.Atoi(mode); err == nil {
		s.Refuse(w, status, map[int]string{501: "NotImplemented", 405: "MethodNotAllowed", 400: "InvalidRequest", 403: "AccessDenied"}[status], "")
		return
	}
	parts, n, ok := s.upload(w, r)
	if !ok {
		return
	}
	source, _ := url.PathUnescape(r.Header.Get("X-Amz-Copy-Source"))
	_, key, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
	o, ok := s.objects[key]
	var from, to int
	if _, err := fmt.Sscanf(r.Header.Get("X-Amz-Copy-Source-Range"), "bytes=%d-%d", &from, &to); !ok || err != nil || to >= len(o.Body) {
		s.Refuse(w, http.StatusNotFound, "NoSuchKey", "")
		return
	}
	copied := bytes.Clone(o.Body[from : to+1])
	switch mode {
	case "norange":
		copied = bytes.Clone(o.Body)
	case "short":
		copied = copied[:len(copied)-1]
	case "shift":
		for i := range copied {
			copied[i]++
		}
	case "ignore":
		copied = body
	case "200err":
		_, _ = io.WriteString(w, "<Error><Code>InternalError</Code><Message>m</Message></Error>")
		return
	}
	parts[n] = copied
	sum := md5.Sum(copied)
	if mode == "ignore" {
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
		return
	}
	fmt.Fprintf(w, `<CopyPartResult><ETag>"%x"</ETag></CopyPartResult>`, sum)
}

func (s *S3) complete(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	parts, _, ok := s.upload(w, r)
	if !ok || s.taken(w, r, key, "complete") {
		return
	}
	var list struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if xml.Unmarshal(body, &list) != nil {
		s.Refuse(w, http.StatusBadRequest, "MalformedXML", "")
		return
	}
	var whole []byte
	for i, p := range list.Part {
		n := len(parts[p.PartNumber])
		last := i == len(list.Part)-1
		switch first := len(parts[list.Part[0].PartNumber]); {
		case !last && n < 5<<20:
			s.Refuse(w, http.StatusBadRequest, "EntityTooSmall", "")
			return
		case s.has("equal-parts") && (!last && n != first || last && n > first):
			s.Refuse(w, http.StatusBadRequest, "InvalidPart", "")
			return
		}
		if sum := md5.Sum(parts[p.PartNumber]); strings.Trim(p.ETag, `"`) != hex.EncodeToString(sum[:]) {
			s.Refuse(w, http.StatusBadRequest, "InvalidPart", "")
			return
		}
		whole = append(whole, parts[p.PartNumber]...)
	}
	delete(s.uploads, r.URL.Query().Get("uploadId"))
	s.store(key, whole, r.Header.Clone())
	_, _ = io.WriteString(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
}

// list answers a page. Quirks: page=N, list-v1-only (no list type 2: no token), nextmarker, list-v2-refused, repeat-token,
// no-token, empty-page (each second page has no keys and the token that was requested; =always: all have), marker-ignored, stray-key, list-no-mtime, list-no-size, enc-always, enc-declared, enc-never.
func (s *S3) list(w http.ResponseWriter, q url.Values) {
	v2 := q.Get("list-type") == "2"
	if v2 && s.has("list-v2-refused") {
		s.Refuse(w, http.StatusBadRequest, "InvalidArgument", "")
		return
	}
	v2 = v2 && !s.has("list-v1-only")
	most := 1000
	for _, v := range []string{q.Get("max-keys"), s.quirks["page"]} {
		if n, err := strconv.Atoi(v); err == nil {
			most = min(most, n)
		}
	}
	after := q.Get("start-after") + q.Get("marker")
	if s.has("marker-ignored") {
		after = ""
	} else if v2 {
		after = q.Get("start-after") + strings.TrimPrefix(q.Get("continuation-token"), "after:")
	} else if q.Get("list-type") == "2" {
		after = "" // neither is known
	}
	keys := s.keys(q.Get("prefix"))
	if i := slices.IndexFunc(keys, func(k string) bool { return k > after }); i < 0 {
		keys = nil
	} else {
		keys = keys[i:]
	}
	more := len(keys) > most
	keys = keys[:min(most, len(keys))]
	again := ""
	if mode, ok := s.quirks["empty-page"]; ok && q.Has("continuation-token") && (mode == "always" || s.counts["list"]%2 == 0) {
		keys, more, again = nil, true, q.Get("continuation-token")
	}
	if s.has("stray-key") {
		keys = append(keys[:len(keys):len(keys)], s.keys("")[len(s.objects)-1])
	}
	escape := func(v string) string {
		if q.Get("encoding-type") == "url" && !s.has("enc-never") || s.has("enc-always") || s.has("enc-declared") {
			return strings.ReplaceAll(url.QueryEscape(v), "%2F", "/")
		}
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(v))
		return b.String()
	}
	fmt.Fprintf(w, `<ListBucketResult><IsTruncated>%t</IsTruncated>`, more)
	if q.Get("encoding-type") == "url" && !s.has("enc-never") || s.has("enc-declared") {
		fmt.Fprint(w, `<EncodingType>url</EncodingType>`)
	}
	for _, key := range keys {
		o := s.objects[key]
		fmt.Fprintf(w, "<Contents><Key>%s</Key>", escape(key))
		if !s.has("list-no-mtime") {
			fmt.Fprintf(w, "<LastModified>%s</LastModified>", o.ModTime.UTC().Format("2006-01-02T15:04:05.000Z"))
		}
		if !s.has("list-no-size") {
			fmt.Fprintf(w, "<Size>%d</Size>", len(o.Body))
		}
		if e := s.etag(o.ETag, "list"); e != "" {
			fmt.Fprintf(w, "<ETag>%s</ETag>", strings.ReplaceAll(e, `"`, "&quot;"))
		}
		fmt.Fprint(w, "</Contents>")
	}
	switch {
	case !more || s.has("no-token"):
	case again != "":
		fmt.Fprintf(w, "<NextContinuationToken>%s</NextContinuationToken>", again)
	case s.has("repeat-token"):
		fmt.Fprint(w, "<NextContinuationToken>after:</NextContinuationToken>")
	case v2:
		fmt.Fprintf(w, "<NextContinuationToken>after:%s</NextContinuationToken>", keys[len(keys)-1])
	case s.has("nextmarker"):
		fmt.Fprintf(w, "<NextMarker>%s</NextMarker>", escape(keys[len(keys)-1]))
	}
	fmt.Fprint(w, "</ListBucketResult>")
}
