package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway/view"
)

// Bucket is the bucket of the read endpoint: the first part of the path of its requests.
const Bucket = "shardcat-tables"

// s3Error is a refusal as S3 words it.
type s3Error struct {
	status        int
	code, message string
}

func denied(message string) *s3Error { return &s3Error{http.StatusForbidden, "AccessDenied", message} }

func (e *s3Error) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(e.status)
	if r.Method == http.MethodHead {
		return
	}
	io.WriteString(w, xml.Header)
	xml.NewEncoder(w).Encode(struct {
		XMLName  xml.Name `xml:"Error"`
		Code     string
		Message  string
		Resource string
	}{Code: e.code, Message: e.message, Resource: r.URL.Path})
}

// serveS3 answers GetObject, HeadObject and ListObjectsV2, each signed by credentials of the table it concerns.
func (s *Server) serveS3(w http.ResponseWriter, r *http.Request) {
	if refusal := s.s3(w, r); refusal != nil {
		refusal.write(w, r)
	}
}

func (s *Server) s3(w http.ResponseWriter, r *http.Request) *s3Error {
	c, refusal := s.keys.check(r)
	if refusal != nil {
		return refusal
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return denied("the endpoint is read-only")
	}
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+Bucket), "/")
	query := r.URL.Query()
	for name := range query {
		if !strings.HasPrefix(name, "X-Amz-") && name != "x-id" && key != "" {
			return denied("unsupported query parameter " + name)
		}
	}
	release, _, err := s.o.Turn(r)
	if err != nil {
		return s3ErrorOf(err)
	}
	defer release()
	if key == "" {
		if r.Method != http.MethodGet || query.Get("list-type") != "2" {
			return denied("only ListObjectsV2 is supported")
		}
		return s.list(w, r, c, query)
	}
	name, ok := strings.CutPrefix(key, c.table+"/")
	if !ok {
		return denied("the credentials are those of another table")
	}
	o, err := s.object(r.Context(), c.table, name)
	if err != nil {
		s.logFailure(r, err)
		return s3ErrorOf(err)
	}
	return s.send(w, r, key, o)
}

// object finds an object of a table.
func (s *Server) object(ctx context.Context, table, name string) (view.Object, error) {
	if o := s.views.Cached(table, name); o != nil {
		return o, nil
	}
	t, err := s.tableByUUID(ctx, table)
	if err != nil {
		return nil, err
	}
	return s.views.Table(t).Object(ctx, name)
}

// tableByUUID loads a table by its UUID. Where it was found is remembered; a replica that does not know it looks through the catalog.
func (s *Server) tableByUUID(ctx context.Context, id string) (*catalog.Table, error) {
	if name, ok := s.known.Load(id); ok {
		t, err := s.cat.Load(ctx, name.(catalog.Name))
		if err == nil && t.UUID() == id {
			return t, nil
		}
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return nil, err
		}
		s.known.Delete(id) // renamed or dropped
	}
	t, err := s.cat.TableOf(ctx, strings.TrimSuffix(s.cat.Vault(), "/")+"/"+id+"/")
	if err != nil {
		return nil, err
	}
	if t.UUID() != id {
		return nil, view.ErrNoObject
	}
	s.known.Store(id, t.Name())
	return t, nil
}

// piece is how many bytes of an object are made at a time.
const piece = 1 << 20

// sendTime is how long a client may take for a piece.
const sendTime = 2 * time.Minute

// rangeWriter is an object that writes a range as it is made.
type rangeWriter interface {
	WriteRange(ctx context.Context, w io.Writer, off, n int64) error
}

// send answers with an object, or the range of it that the request names.
func (s *Server) send(w http.ResponseWriter, r *http.Request, key string, o view.Object) *s3Error {
	header := w.Header()
	etag := etagOf(key)
	header.Set("ETag", etag)
	header.Set("Accept-Ranges", "bytes")
	header.Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat)) // objects never change
	header.Set("Content-Type", "application/octet-stream")
	if match := r.Header.Get("If-Match"); match != "" && match != "*" && match != etag {
		return &s3Error{http.StatusPreconditionFailed, "PreconditionFailed", "the object has another ETag"}
	}
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	size := o.Size()
	off, n, status := int64(0), size, http.StatusOK
	if text := r.Header.Get("Range"); text != "" {
		from, length, part, ok := parseRange(text, size)
		if !ok {
			header.Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
			return &s3Error{http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "the range lies outside the object"}
		}
		if part {
			off, n, status = from, length, http.StatusPartialContent
			header.Set("Content-Range", "bytes "+strconv.FormatInt(off, 10)+"-"+strconv.FormatInt(off+n-1, 10)+"/"+strconv.FormatInt(size, 10))
		}
	}
	header.Set("Content-Length", strconv.FormatInt(n, 10))
	if r.Method == http.MethodHead || n == 0 {
		w.WriteHeader(status)
		return nil
	}
	out := &pieces{w: w, status: status, control: http.NewResponseController(w)}
	if err := out.copy(r.Context(), o, off, n); err != nil {
		if r.Context().Err() == nil {
			s.logFailure(r, err)
		}
		if !out.begun {
			for _, name := range []string{"Content-Length", "Content-Range", "ETag", "Accept-Ranges", "Last-Modified"} {
				header.Del(name)
			}
			return s3ErrorOf(err)
		}
		panic(http.ErrAbortHandler) // the status is sent: a broken connection is the only way to say that the rest is missing
	}
	return nil
}

// pieces writes an answer piece by piece, the status with the first one, so that an error before it becomes one of the answer's.
type pieces struct {
	w       http.ResponseWriter
	control *http.ResponseController
	status  int
	begun   bool
}

func (p *pieces) Write(b []byte) (int, error) {
	p.control.SetWriteDeadline(time.Now().Add(sendTime)) //nolint:errcheck // writers without deadlines have none
	if !p.begun {
		p.begun = true
		p.w.WriteHeader(p.status)
	}
	return p.w.Write(b)
}

func (p *pieces) copy(ctx context.Context, o view.Object, off, n int64) error {
	if o, ok := o.(rangeWriter); ok {
		return o.WriteRange(ctx, p, off, n)
	}
	b := make([]byte, min(n, piece))
	for ; n > 0; n, off = n-int64(len(b)), off+int64(len(b)) {
		b = b[:min(n, piece)]
		if err := o.ReadRange(ctx, off, b); err != nil {
			return err
		}
		if _, err := p.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// etagOf is the ETag of an object, whose bytes follow from its name.
func etagOf(key string) string {
	sum := sha256.Sum256([]byte(key + "\x00" + view.Layout))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// parseRange reads a Range header. part is false for what is answered with the whole object: other units and several ranges.
func parseRange(text string, size int64) (off, n int64, part, ok bool) {
	spec, isBytes := strings.CutPrefix(text, "bytes=")
	if !isBytes || strings.Contains(spec, ",") {
		return 0, 0, false, true
	}
	first, last, dash := strings.Cut(spec, "-")
	if !dash {
		return 0, 0, false, true
	}
	if first == "" {
		suffix, err := strconv.ParseInt(last, 10, 64)
		if err != nil || suffix < 0 {
			return 0, 0, false, true
		}
		n = min(suffix, size)
		return size - n, n, true, n > 0
	}
	off, err := strconv.ParseInt(first, 10, 64)
	if err != nil || off < 0 {
		return 0, 0, false, true
	}
	end := size - 1
	if last != "" {
		if end, err = strconv.ParseInt(last, 10, 64); err != nil || end < off {
			return 0, 0, false, true
		}
		end = min(end, size-1)
	}
	return off, end - off + 1, true, off < size
}

// list answers ListObjectsV2. A prefix that is the name of an object lists it, any other lists nothing: names follow from metadata, and
// nobody has to find them by listing.
func (s *Server) list(w http.ResponseWriter, r *http.Request, c *credentials, query url.Values) *s3Error {
	prefix := query.Get("prefix")
	name, ok := strings.CutPrefix(prefix, c.table)
	if !ok || name != "" && !strings.HasPrefix(name, "/") {
		return denied("the credentials are those of another table")
	}
	type contents struct {
		Key          string
		LastModified string
		ETag         string
		Size         int64
		StorageClass string
	}
	result := struct {
		XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		Name        string
		Prefix      string
		Delimiter   string `xml:",omitempty"`
		KeyCount    int
		MaxKeys     int
		IsTruncated bool
		Contents    []contents
	}{Name: Bucket, Prefix: prefix, Delimiter: query.Get("delimiter"), MaxKeys: 1000}
	switch o, err := s.object(r.Context(), c.table, strings.TrimPrefix(name, "/")); {
	case err == nil:
		result.KeyCount = 1
		result.Contents = []contents{{prefix, "1970-01-01T00:00:00.000Z", etagOf(prefix), o.Size(), "STANDARD"}}
	case s3ErrorOf(err).status != http.StatusNotFound:
		s.logFailure(r, err)
		return s3ErrorOf(err)
	}
	w.Header().Set("Content-Type", "application/xml")
	io.WriteString(w, xml.Header)
	xml.NewEncoder(w).Encode(result)
	return nil
}

// s3ErrorOf is the answer to an error.
func s3ErrorOf(err error) *s3Error {
	class, status := classOf(err)
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return &s3Error{http.StatusNotFound, "NoSuchKey", "the object does not exist"}
	case http.StatusServiceUnavailable:
		return &s3Error{status, "SlowDown", err.Error()}
	case http.StatusForbidden:
		return denied(err.Error())
	case http.StatusNotImplemented:
		return &s3Error{http.StatusNotImplemented, "NotImplemented", err.Error()}
	}
	return &s3Error{http.StatusInternalServerError, "InternalError", class + ": " + err.Error()}
}
