package arrowhttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// problem is an error as an answer: application/problem+json of RFC 9457, with the class of the error as the command line
// names it.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`

	retryAfter time.Duration
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// classes are the answers that errors become, the first that fits.
var classes = []struct {
	err    error
	status int
	code   string
}{
	{context.Canceled, http.StatusServiceUnavailable, "interrupted"},
	{catalog.ErrInvalid, http.StatusBadRequest, "usage"},
	{schema.ErrNoField, http.StatusBadRequest, "usage"},
	{manifest.ErrSchema, http.StatusBadRequest, "usage"},
	{arrowtype.ErrColumn, http.StatusBadRequest, "usage"},
	{fileio.ErrRecord, http.StatusBadRequest, "usage"},
	{urlresolve.ErrRefused, http.StatusForbidden, "unsafe"},
	{catalog.ErrUnsafe, http.StatusForbidden, "unsafe"},
	{catalog.ErrUnknownOutcome, http.StatusInternalServerError, "unknown_outcome"},
	{catalog.ErrConflict, http.StatusConflict, "conflict"},
	{catalog.ErrNotFound, http.StatusNotFound, "not_found"},
	{blobio.ErrNotFound, http.StatusGone, "not_found"},
	{corrupt.ErrUnsupported, http.StatusNotImplemented, "corrupt"},
	{corrupt.ErrCorrupt, http.StatusInternalServerError, "corrupt"},
	{blobio.ErrDamaged, http.StatusInternalServerError, "corrupt"},
}

// problemOf is the answer to an error. An object that is gone is 410: a task that outlived its shard, above all.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	if refusal := (*access.Refusal)(nil); errors.As(err, &refusal) {
		code := "unsafe"
		if refusal.Status == http.StatusUnauthorized {
			code = "unauthorized"
		}
		return &problem{Status: refusal.Status, Code: code, Detail: refusal.Detail}
	}
	p = &problem{Status: http.StatusInternalServerError, Code: "failed", Detail: err.Error()}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			p.Status, p.Code = c.status, c.code
			return p
		}
	}
	if row := (*arrowtype.RowError)(nil); errors.As(err, &row) {
		p.Status, p.Code = http.StatusUnprocessableEntity, "unfit"
	}
	return p
}

func writeProblem(w http.ResponseWriter, p *problem) {
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	for _, name := range []string{"Content-Encoding", "Content-Length", "Vary"} {
		header.Del(name)
	}
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="shardcat"`)
	}
	if p.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(p.retryAfter.Seconds())))
	}
	said := *p
	said.Title = http.StatusText(p.Status)
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(said)
}
