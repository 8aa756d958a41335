package apierror

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestClassOfStatus(t *testing.T) {
	for status, want := range map[int]error{404: ErrNotFound, 410: ErrNotFound, 401: ErrDenied,
		403: ErrDenied, 429: ErrThrottled, 503: ErrThrottled, 412: ErrExists,
		409: ErrConflict, 416: ErrRange, 408: ErrTransient, 500: ErrTransient,
		504: ErrTransient, 400: ErrUnknown, 501: ErrUnknown, 302: ErrDenied} {
		if got := OfStatus(status); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}

func TestClassOfTheNetwork(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want error
	}{
		{t.Context(), &net.DNSError{Err: "no such host", IsNotFound: true}, ErrTransient},
		{t.Context(), &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, ErrTransient},
		{t.Context(), io.ErrUnexpectedEOF, ErrTransient},
		{t.Context(), context.DeadlineExceeded, ErrTransient}, // of the transport
		{t.Context(), context.Canceled, ErrCanceled},
		{ended, io.ErrUnexpectedEOF, ErrCanceled},
		{t.Context(), errors.New("what?"), ErrUnknown},
	} {
		if got := OfNetwork(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}

// TestUntrustedIsRefused: time does not make a certificate trusted, nor TLS of a plain port.
func TestUntrustedIsRefused(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	secure, plain := httptest.NewUnstartedServer(nil), httptest.NewServer(nil)
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	strict := httptest.NewUnstartedServer(nil)
	strict.TLS, strict.Config.ErrorLog = &tls.Config{ClientAuth: tls.RequireAnyClientCert}, quiet
	strict.StartTLS()
	t.Cleanup(strict.Close)
	for name, get := range map[string]func() error{
		"unknown authority":     func() error { _, err := http.Get(secure.URL); return err },
		"TLS of a plain port":   func() error { _, err := http.Get("https" + strings.TrimPrefix(plain.URL, "http")); return err },
		"no client certificate": func() error { _, err := strict.Client().Get(strict.URL); return err },
		"name not of the host": func() error {
			c := secure.Client()
			c.Transport.(*http.Transport).TLSClientConfig.ServerName = "other.test"
			_, err := c.Get(secure.URL)
			return err
		},
	} {
		if err := get(); OfNetwork(t.Context(), err) != ErrDenied {
			t.Errorf("%s: %v, class %v", name, err, OfNetwork(t.Context(), err))
		}
	}
}

func TestRedactDropsTheURL(t *testing.T) {
	cause := &net.OpError{Op: "dial", Err: errors.New("refused")}
	err := fmt.Errorf("send: %w", &url.Error{Op: "Get", URL: "https://h/k?sig=SECRET", Err: cause})
	redacted := Redact(err)
	if strings.Contains(redacted.Error(), "SECRET") || !errors.Is(redacted, cause) {
		t.Errorf("%v: want no secret and the cause kept", redacted)
	}
	var u *url.Error
	if errors.As(redacted, &u) {
		t.Error("the URL can still be unwrapped")
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "-3": 0, "soon": 0,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	in := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := RetryAfter(http.Header{"Retry-After": {in}}); got < 59*time.Minute || got > time.Hour {
		t.Errorf("a date in an hour: %v", got)
	}
}
