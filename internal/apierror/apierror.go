// Package apierror turns what an object store answered, or the network in its place, into blobio's classes.
//
// The class is decided on the provider's own status and code, because the layers between lose it: a denied
// request must never look like a missing object, nor a name that does not resolve, nor a store that is busy.
// What is kept of the answer is its status, code, message and request id, and nothing of the request: URLs
// with signatures and headers with keys stay behind.
package apierror

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Error is a refusal in the store's words.
type Error struct {
	Status     int    // of HTTP
	Code       string // the provider's, may be empty
	Message    string // the provider's, may be empty
	RequestID  string // to quote to the provider's support, may be empty
	RetryAfter time.Duration
}

// Error prints the answer on one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "store responded %d", e.Status)
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + strings.Join(strings.Fields(e.Message), " "))
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// Redirected is what to do about a redirect, which is not followed, "" for other answers. Of the address it names the host alone.
func Redirected(status int, h http.Header) string {
	if status < 300 || status >= 400 || status == http.StatusNotModified {
		return ""
	}
	to := "another address"
	if u, err := url.Parse(h.Get("Location")); err == nil && u.Host != "" {
		to = "host " + strconv.Quote(u.Host)
	}
	return "redirected to " + to + ", which is not followed; if that is the store, set it as the endpoint; it may also be a proxy or a login page"
}

// WaitFor is how long the store requested to wait, as blobio.RetryAfter looks for it.
func (e *Error) WaitFor() time.Duration { return e.RetryAfter }

// OfStatus is the class of an answer by its HTTP status alone; drivers look at the code first.
func OfStatus(status int) error {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return ErrDenied
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return ErrThrottled
	case http.StatusPreconditionFailed, http.StatusNotModified:
		return ErrExists
	case http.StatusConflict:
		return ErrConflict
	case http.StatusRequestedRangeNotSatisfiable:
		return ErrRange
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return ErrTransient
	}
	if status >= 300 && status < 400 {
		return ErrDenied // redirects are not followed
	}
	if status >= 500 && status != http.StatusNotImplemented {
		return ErrTransient
	}
	return ErrUnknown
}

// OfNetwork is the class of an error that came without an answer, ErrUnknown if it is none of the network's.
// The caller's own cancellation is ErrCanceled; the end of a deadline inside the transport is not. A certificate that is
// not trusted and the wrong protocol at the other end are refusals: no request was made, and none will succeed later.
func OfNetwork(ctx context.Context, err error) error {
	var netErr net.Error
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		return ErrCanceled
	case errors.Is(err, fs.ErrClosed):
		return ErrClosed
	case untrusted(err):
		return ErrDenied
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &dns), errors.As(err, &op), errors.As(err, &netErr):
		return ErrTransient
	case strings.Contains(err.Error(), "server closed idle connection"),
		strings.Contains(err.Error(), "http2: "):
		return ErrTransient // net/http has no types for these two
	}
	return ErrUnknown
}

// untrusted reports whether TLS or HTTP failed because of who is at the other end.
func untrusted(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // a TLS alert, whose type is not exported
		return true
	}
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(x509.CertificateInvalidError)) ||
		errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, http.ErrSchemeMismatch)
}

// Redact returns an error of the network without the requested URL, which may hold a signature. What
// errors.Is and errors.As find below it stays.
func Redact(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("%s: %w", strings.ToUpper(u.Op), Redact(u.Err))
	}
	return err
}

// OneLine is the text of an error without line breaks.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// OfTokenStatus is the class of an answer of a service that hands out tokens: a refusal may also come as 400.
func OfTokenStatus(status int) error {
	if status == http.StatusTooManyRequests || status >= 500 {
		return OfStatus(status)
	}
	return ErrDenied
}

// RetryAfter reads the header of that name: seconds or a date.
func RetryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// Own is the class of an error that a driver made itself: one of blobio's sentinels. It is nil for others.
func Own(err error) error {
	for _, class := range []error{ErrNotFound, ErrDenied, ErrThrottled, ErrExists,
		ErrConflict, ErrRange, ErrTransient, ErrUnknown, ErrCanceled,
		ErrClosed, ErrChanged} {
		if errors.Is(err, class) {
			return class
		}
	}
	return nil
}
