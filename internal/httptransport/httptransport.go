// Package httptransport is the HTTP transport below the clients of object stores and catalogs. It keeps what their
// libraries do unseen within bounds:
//
//   - A redirect to another host is refused, before a byte is sent there: libraries put tokens and signatures
//     into requests below the layer that would strip them.
//   - A read that is one request stays one request (Once): libraries that retry for a broken body, out of
//     sight of the layer that counts and paces attempts, are stopped at the second.
//   - Every request that is made is reported to the counter of its context (Watch).
package httptransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// ErrRedirect is matched by the error of a request that was redirected to another host.
var ErrRedirect = errors.New("redirects to another host are not followed")

// ErrSecondRequest is matched by the error of a request that a library made in a read of one request.
var ErrSecondRequest = errors.New("unexpected second request in one read")

// ErrUnplaced is matched by the error of a request that was answered with a part of an object that the answer does not place.
var ErrUnplaced = errors.New("response 206 without Content-Range")

// Transport is a RoundTripper around another one.
type Transport struct {
	// Base makes the requests; http.DefaultTransport if nil.
	Base http.RoundTripper
	// Tokens: it makes the requests for tokens, which are no part of the read that needed one.
	Tokens bool
}

type onceKey struct{}

// Once gives a context in which one request may be made. The value rides in the context because the store's own
// library lies between who calls Once and the transport.
func Once(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, new(atomic.Int32))
}

type watchKey struct{}

type watch struct {
	made atomic.Int32
	each func(Kind)
}

// Watch gives a context in which each is notified of every request before it is made, whatever library makes it.
func Watch(ctx context.Context, each func(Kind)) context.Context {
	return context.WithValue(ctx, watchKey{}, &watch{each: each})
}

type answeredKey struct{}

// Answered gives a context in which answer gets the response to every request, before its body is read.
func Answered(ctx context.Context, answer func(*http.Response)) context.Context {
	return context.WithValue(ctx, answeredKey{}, answer)
}

// Request lets a library make one request of a kind. Where no transport of this package saw it, because the
// library's client is a stranger's, who watches the context is notified of one all the same.
func Request(ctx context.Context, kind Kind, do func() error) error {
	w, ok := ctx.Value(watchKey{}).(*watch)
	if !ok {
		return do()
	}
	before := w.made.Load()
	err := do()
	if w.made.Load() == before {
		w.each(kind)
	}
	return err
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.check(req); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(req)
	if err == nil && unplaced(resp) {
		resp.Body.Close()
		return nil, ErrUnplaced
	}
	if err == nil && resp.Body != nil {
		bound(req, resp)
	}
	if answer, ok := req.Context().Value(answeredKey{}).(func(*http.Response)); ok && err == nil && !t.Tokens {
		answer(resp)
	}
	return resp, err
}

// What answers without content of an object may hold: an error, and a page of a list of 5,000 long keys.
const mostOfError, mostOfDocument = 1 << 20, 64 << 20

// bound ends bodies that libraries read into memory as a whole, however long they are.
func bound(req *http.Request, resp *http.Response) {
	most := int64(mostOfDocument)
	switch {
	case resp.StatusCode >= 300:
		most = mostOfError
	case KindOf(req) == Get:
		return
	}
	resp.Body = &boundBody{ReadCloser: resp.Body, left: most}
}

// ErrTooLong is matched by the error of an answer that does not end.
var ErrTooLong = errors.New("the response exceeds the size limit for its kind")

type boundBody struct {
	io.ReadCloser
	left int64
}

func (b *boundBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if n, err := b.ReadCloser.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, ErrTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// unplaced reports an answer that is a part of an object and does not state which one.
func unplaced(resp *http.Response) bool {
	return resp.StatusCode == http.StatusPartialContent && resp.Header.Get("Content-Range") == ""
}

func (t *Transport) check(req *http.Request) error {
	if from := req.Response; from != nil && from.Request != nil && !sameHost(req, from.Request) {
		return fmt.Errorf("%w: %s sent to %s", ErrRedirect, from.Request.URL.Host, req.URL.Host)
	}
	if t.Tokens {
		return nil
	}
	if made, ok := req.Context().Value(onceKey{}).(*atomic.Int32); ok && made.Add(1) > 1 {
		return ErrSecondRequest
	}
	if w, ok := req.Context().Value(watchKey{}).(*watch); ok {
		w.made.Add(1)
		w.each(KindOf(req))
	}
	return nil
}

// Client is an HTTP client over base that follows no redirect at all: what the store answered is seen above.
func Client(base http.RoundTripper) *http.Client {
	return &http.Client{Transport: &Transport{Base: base}, CheckRedirect: Stay}
}

// TokenClient is Client for the services that hand out tokens.
func TokenClient(base http.RoundTripper) *http.Client {
	return &http.Client{Transport: &Transport{Base: base, Tokens: true}, CheckRedirect: Stay}
}

// Pooled makes a transport keep enough idle connections for a scan, and give a dead host up early.
func Pooled(t *http.Transport) *http.Transport {
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 128
	t.IdleConnTimeout, t.ExpectContinueTimeout = 90*time.Second, time.Second
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	return t
}

// Stay follows no redirect.
func Stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sameHost also wants the same scheme: a redirect from https to http would show a token to everyone on the way.
func sameHost(a, b *http.Request) bool {
	return a.URL.Host == b.URL.Host && a.URL.Scheme == b.URL.Scheme
}
