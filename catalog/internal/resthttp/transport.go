package resthttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/shardcat/shardcat/internal/apierror"
)

// The defaults of a Transport.
const (
	// DefaultBudget is how long one request is retried: it outlasts the restart of a server.
	DefaultBudget = 2 * time.Minute
	// DefaultReadTimeout is how long the response to a read may take.
	DefaultReadTimeout = 25 * time.Second
	// DefaultWriteTimeout is how long the response to a commit, a creation or a drop may take: catalogs that keep
	// metadata on an object store were seen to need 35 s.
	DefaultWriteTimeout = 2 * time.Minute
)

const (
	// maxTimeouts ends a request to a server that accepts connections and never responds.
	maxTimeouts = 2
	// maxServerErrors bounds the attempts after a 500, which is often not a fault that passes.
	maxServerErrors = 6
	// maxUnresolved bounds the attempts where the name of the host does not exist.
	maxUnresolved = 4
	// firstWait and lastWait bound the random waits, which double; busyWait is the first after 429 and 503.
	firstWait, lastWait, busyWait = 100 * time.Millisecond, 10 * time.Second, time.Second
	// maxRetryAfter bounds a wait that the server requests to what the budget may hold.
	maxRetryAfter = 10 * time.Minute
	// maxBody bounds the body of a response, maxErrorBody that of an error.
	maxBody, maxErrorBody = 256 << 20, 64 << 10
	defaultMemory         = 1 << 30
)

// ErrTimeout is matched by the error of a request that was not responded to in time.
var ErrTimeout = errors.New("no response in time")

// ErrOtherHost is matched by the error of a request, or of a server's configuration, that leaves the catalog's host.
var ErrOtherHost = errors.New("not the catalog's host")

// Transport is a RoundTripper for one catalog. The zero values of its options are valid.
type Transport struct {
	// Base makes the requests.
	Base http.RoundTripper
	// Catalog is the base URL; requests to any other host are refused.
	Catalog *url.URL
	// Tokens authorize the requests, nil for none.
	Tokens *Tokens
	// Signed means that the caller signs requests (SigV4).
	Signed bool
	// Agent is the beginning of User-Agent.
	Agent string
	// Timeout of each request, the defaults above if 0.
	Timeout time.Duration
	// Budget of retries, DefaultBudget if 0, no retry if negative.
	Budget time.Duration
	// MaxMemory bounds what a response may take once it is decoded, defaultMemory if 0.
	MaxMemory int64
	// Waiting reports the begin of an outage, and Recovered its end, once each; either may be nil.
	Waiting   func(cause error, until time.Time)
	Recovered func(outage time.Duration)

	mu sync.Mutex
	// notBefore is until when the server requested to be left alone.
	notBefore time.Time
	// failingSince is the begin of an outage, zero if there is none; reported means that Waiting was called for it.
	failingSince time.Time
	reported     bool
}

// RoundTrip implements http.RoundTripper. The body of the response has been read.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if r.Response == nil && !t.sameHost(r.URL) { // of a redirect, the transport below decides
		return nil, fmt.Errorf("request to %s: %w", r.URL.Host, ErrOtherHost)
	}
	resp, err := t.authorized(r)
	if err == nil && resp.StatusCode == http.StatusOK && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/v1/config") {
		err = t.checkConfig(resp)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// authorized sends a request with a token, and once more with another one if the token is refused.
func (t *Transport) authorized(r *http.Request) (*http.Response, error) {
	for renewed := false; ; renewed = true {
		token := ""
		if t.Tokens != nil && !t.Signed {
			var err error
			if token, err = t.Tokens.current(r.Context(), t); err != nil {
				return nil, err
			}
		}
		resp, err := t.retried(r, token)
		if err != nil || token == "" || renewed || !refusesToken(resp) || !t.Tokens.refused(token) {
			return resp, err
		}
	}
}

// refusesToken reports whether a response reports that the token does not hold (any more). Some catalogs respond 403.
func refusesToken(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusUnauthorized, 419:
		return true
	case http.StatusForbidden:
		text := bytes.ToLower(peek(resp))
		return bytes.Contains(text, []byte("token")) && (bytes.Contains(text, []byte("expired")) || bytes.Contains(text, []byte("invalid")))
	}
	return false
}

// peek is the body of a response that was read already.
func peek(resp *http.Response) []byte {
	text, _ := io.ReadAll(resp.Body) // from memory
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return text
}

// retried sends a request until it is responded to, or may not be sent again.
func (t *Transport) retried(r *http.Request, token string) (*http.Response, error) {
	ctx, begin, timeouts := r.Context(), time.Now(), 0
	budget := cmp.Or(t.Budget, DefaultBudget)
	for n := 1; ; n++ {
		if err := t.holdBack(ctx); err != nil {
			return nil, err
		}
		resp, err := t.once(r, token)
		if errors.Is(err, ErrTimeout) {
			timeouts++
		}
		after := t.noteRetryAfter(resp)
		if ctx.Err() != nil || !again(r, resp, err, n) || timeouts >= maxTimeouts {
			if err == nil && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
				t.recovered()
			}
			return resp, err
		}
		wait := max(jitter(n, resp), after)
		if time.Since(begin)+wait > budget {
			return resp, err
		}
		t.waiting(describe(resp, err), begin.Add(budget), wait)
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// again reports whether attempt n ended in a way that allows another one.
func again(r *http.Request, resp *http.Response, err error, n int) bool {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, errUnreplayable):
		return false
	case errors.As(err, &dns) && dns.IsNotFound:
		return n < maxUnresolved
	case errors.As(err, &op) && op.Op == "dial": // the request was not sent
		return true
	case err == nil && resp.StatusCode == http.StatusTooManyRequests: // nothing was done
		return true
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Context().Value(repeatable{}) == nil:
		return false
	case err != nil:
		return errors.Is(err, ErrTimeout) || errors.Is(apierror.OfNetwork(context.Background(), err), errTransient)
	}
	switch resp.StatusCode {
	case http.StatusInternalServerError:
		return n < maxServerErrors
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// repeatable marks the context of a POST that may be sent again.
type repeatable struct{}

// errUnreplayable is a body that can't be sent a second time.
var errUnreplayable = errors.New("the body of the request can't be sent again")

// once sends a request and reads the response, within a timeout.
func (t *Transport) once(r *http.Request, token string) (*http.Response, error) {
	limit := t.Timeout
	if limit == 0 {
		limit = DefaultReadTimeout
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Context().Value(repeatable{}) == nil {
			limit = DefaultWriteTimeout
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	sent := r.Clone(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return nil, errUnreplayable
		}
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		sent.Body = body
	}
	t.setHeaders(sent, token)
	resp, err := t.Base.RoundTrip(sent)
	if err == nil {
		err = readBody(resp, t.MaxMemory)
	}
	if err != nil {
		if ctx.Err() != nil && r.Context().Err() == nil {
			return nil, fmt.Errorf("%s %s: %w: %s (see --catalog-timeout)", r.Method, r.URL.Path, ErrTimeout, limit)
		}
		return nil, err
	}
	return resp, nil
}

func (t *Transport) setHeaders(r *http.Request, token string) {
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if t.Agent != "" {
		r.Header.Set("User-Agent", strings.TrimSpace(t.Agent+" "+r.Header.Get("User-Agent")))
	}
}

// readBody reads a response into memory, as far as what it decodes to fits there. The body of an error is cut off where it is too long.
func readBody(resp *http.Response, memory int64) error {
	defer resp.Body.Close()
	limit := int64(maxBody)
	if resp.StatusCode >= 300 {
		limit = maxErrorBody
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if int64(len(text)) > limit {
		if resp.StatusCode < 300 {
			return fmt.Errorf("%s: the response has more than %d bytes", resp.Request.URL.Path, limit)
		}
		text, err = text[:limit], nil
	}
	if err == nil {
		err = CheckJSON(text, cmp.Or(memory, defaultMemory))
	}
	if err != nil {
		return err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// describe is the reason of a wait.
func describe(resp *http.Response, err error) error {
	if err != nil {
		return apierror.Redact(err)
	}
	return fmt.Errorf("the catalog responded %s", resp.Status)
}

// jitter is the wait after attempt n: random, up to a bound that doubles.
func jitter(n int, resp *http.Response) time.Duration {
	first, least := firstWait, time.Duration(0)
	if resp != nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) {
		first, least = busyWait, busyWait/2
	}
	return least + rand.N(max(1, min(lastWait, first<<min(n, 16))-least))
}

// noteRetryAfter holds all requests back for as long as a response asks.
func (t *Transport) noteRetryAfter(resp *http.Response) time.Duration {
	if resp == nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 {
		return 0
	}
	after := min(apierror.RetryAfter(resp.Header), maxRetryAfter)
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := time.Now().Add(after); until.After(t.notBefore) {
		t.notBefore = until
	}
	return after
}

// holdBack waits until the server may be sent requests again.
func (t *Transport) holdBack(ctx context.Context) error {
	t.mu.Lock()
	wait := min(time.Until(t.notBefore), cmp.Or(t.Budget, DefaultBudget))
	t.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	return sleep(ctx, wait)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// waiting reports an outage once: when it has lasted for a second, or is about to.
func (t *Transport) waiting(cause error, until time.Time, wait time.Duration) {
	t.mu.Lock()
	now := time.Now()
	if t.failingSince.IsZero() {
		t.failingSince = now
	}
	tell := !t.reported && now.Sub(t.failingSince)+wait >= time.Second
	t.reported = t.reported || tell
	t.mu.Unlock()
	if tell && t.Waiting != nil {
		t.Waiting(cause, until)
	}
}

// recovered ends an outage.
func (t *Transport) recovered() {
	t.mu.Lock()
	since, reported := t.failingSince, t.reported
	t.failingSince, t.reported = time.Time{}, false
	t.mu.Unlock()
	if reported && t.Recovered != nil {
		t.Recovered(time.Since(since))
	}
}

// CloseIdleConnections lets http.Client close the connections below.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
