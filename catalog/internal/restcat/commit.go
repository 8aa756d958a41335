package restcat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// CommitTable implements icecatalog.Catalog. Its errors have the class that the server's response proves: iceberg-go's own say neither
// the status of every response, nor whether the body came from the catalog, nor whether anything was sent.
func (c *Tables) CommitTable(ctx context.Context, ident table.Identifier, r []table.Requirement, u []table.Update) (table.Metadata, string, error) {
	seen := &commitResponse{}
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, commitResponseKey{}, seen), &httptrace.ClientTrace{WroteHeaders: seen.wroteHeaders})
	meta, at, err := c.Catalog.CommitTable(ctx, ident, r, u)
	return meta, at, seen.classify(err)
}

// commitResponse is what a transport saw of one commit request.
type commitResponse struct {
	mu     sync.Mutex
	sent   bool
	status int
	proper bool
	after  time.Duration
}

type commitResponseKey struct{}

// commitWatch is a RoundTripper that notes the responses to commits. The note rides in the context because iceberg-go's client
// lies between the caller and the transport.
type commitWatch struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w *commitWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(r)
	if seen, ok := r.Context().Value(commitResponseKey{}).(*commitResponse); ok && err == nil && strings.Contains(r.URL.Path, "/tables/") {
		seen.note(resp)
	}
	return resp, err
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport.
func (w *commitWatch) CloseIdleConnections() {
	if c, ok := w.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (s *commitResponse) wroteHeaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = true
}

// maxErrorBody bounds what is read of a response to find out whether it is an error of the catalog.
const maxErrorBody = 1 << 20

func (s *commitResponse) note(resp *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.status, s.proper, s.after = true, resp.StatusCode, false, retryAfter(resp.Header)
	if resp.StatusCode < 400 {
		return
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	var body struct {
		Error *struct {
			Message, Type string
			Code          int
		} `json:"error"`
	}
	s.proper = err == nil && json.Unmarshal(text, &body) == nil && body.Error != nil && (body.Error.Message != "" || body.Error.Type != "")
}

// retryAfter is the pause that a response requests: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// classify gives an error the class that the response proves.
func (s *commitResponse) classify(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.sent && commiterr.IsOutage(err):
		return &commiterr.Error{Class: commiterr.Later, Local: true, Err: err}
	case !s.sent && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded), errors.Is(err, httptransport.ErrRedirect):
		return &commiterr.Error{Class: commiterr.Refused, Local: true, Err: err}
	case s.status == 0:
		return err
	}
	if s.status >= 400 {
		err = fmt.Errorf("%d %s: %w", s.status, http.StatusText(s.status), err)
	}
	return &commiterr.Error{Class: commiterr.OfStatus(s.status, s.proper), After: s.after, Status: s.status, Err: err}
}
