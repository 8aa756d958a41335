package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

func TestClassOfStatus(t *testing.T) {
	for status, want := range map[int]error{404: blobio.ErrNotFound, 410: blobio.ErrNotFound, 401: blobio.ErrDenied,
		403: blobio.ErrDenied, 429: blobio.ErrThrottled, 503: blobio.ErrThrottled, 412: blobio.ErrExists,
		409: blobio.ErrConflict, 416: blobio.ErrRange, 408: blobio.ErrTransient, 500: blobio.ErrTransient,
		504: blobio.ErrTransient, 400: blobio.ErrUnknown, 501: blobio.ErrUnknown, 302: blobio.ErrDenied} {
		if got := Class(status); got != want {
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
		{t.Context(), &net.DNSError{Err: "no such host", IsNotFound: true}, blobio.ErrTransient},
		{t.Context(), &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, blobio.ErrTransient},
		{t.Context(), io.ErrUnexpectedEOF, blobio.ErrTransient},
		{t.Context(), context.DeadlineExceeded, blobio.ErrTransient}, // of the transport
		{t.Context(), context.Canceled, blobio.ErrCanceled},
		{ended, io.ErrUnexpectedEOF, blobio.ErrCanceled},
		{t.Context(), errors.New("what?"), blobio.ErrUnknown},
	} {
		if got := Network(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
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

func TestExtent(t *testing.T) {
	for _, tc := range []struct {
		header   string
		length   int64
		at, size int64
		bad      bool
	}{
		{"", 10, 0, 10, false}, {"bytes 5-9/10", 5, 5, 10, false}, {"bytes 11-?/11", 0, 11, 11, false},
		{"bytes */10", 0, 0, 0, true}, {"bytes 5-9/*", 5, 0, 0, true}, {"bytes -1-9/10", 5, 0, 0, true},
		{"bytes 20-29/10", 10, 0, 0, true}, {"nonsense", 5, 0, 0, true},
		{"bytes 0-9/99999999999999999999", 10, 0, 0, true},
	} {
		at, size, err := Extent(tc.header, tc.length)
		if at != tc.at || size != tc.size || (err != nil) != tc.bad {
			t.Errorf("%q: %d of %d, %v", tc.header, at, size, err)
		}
	}
}

func TestBodyThatEndsEarly(t *testing.T) {
	failed := errors.New("failed")
	fail := func(err error) error { return fmt.Errorf("%w: %w", failed, err) }
	got, err := io.ReadAll(Body(t.Context(), io.NopCloser(strings.NewReader("12345")), 9, fail))
	if string(got) != "12345" || !errors.Is(err, failed) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v; want 12345 and an unexpected end", got, err)
	}
	got, err = io.ReadAll(Body(t.Context(), io.NopCloser(strings.NewReader("12345 and more")), 5, fail))
	if string(got) != "12345" || err != nil {
		t.Errorf("%q, %v; want 12345 and no more", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := io.ReadAll(Body(ctx, io.NopCloser(strings.NewReader("12345")), 5, fail)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
