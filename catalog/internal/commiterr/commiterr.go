// Package commiterr classifies the errors of commit requests by what they prove about the request.
package commiterr

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
)

// Class is what the error of a commit request proves.
type Class int

const (
	// Unknown: the change may have been committed, or may be committed later.
	Unknown Class = iota
	// Conflict: this request committed nothing, because the table is not in the required state.
	Conflict
	// Refused: this request committed nothing, and the same request will not succeed later.
	Refused
	// Bad: Refused, by a status that some catalogs use for a conflict too.
	Bad
	// Gone: this request committed nothing, because the catalog has no such table.
	Gone
	// Later: this request committed nothing, and may succeed later.
	Later
)

// Error is the error of a commit request whose class the catalog's client knows.
type Error struct {
	Class Class
	// After is the pause that the catalog requested, 0 for none.
	After time.Duration
	// Local: no request was made. Invalid: because the change makes no valid table.
	Local, Invalid bool
	// Status of the response, 0 for none.
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns what the error of a commit request proves. No error proves nothing here: settle looks at the state
// that came with it.
func ClassOf(err error) Class {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known.Class
	}
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unknown
	case errors.Is(err, table.ErrCommitFailed), errors.Is(err, icecatalog.ErrTableAlreadyExists):
		return Conflict
	case errors.Is(err, icecatalog.ErrNoSuchTable):
		return Gone
	case errors.Is(err, rest.ErrBadRequest):
		return Bad
	case errors.Is(err, table.ErrInvalidMetadata), errors.Is(err, icecatalog.ErrNoSuchNamespace), errors.Is(err, iceberg.ErrNotImplemented),
		errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrUnauthorized), errors.Is(err, rest.ErrAuthorizationExpired):
		return Refused
	}
	return Unknown
}

// NotSent reports whether a change ended before a request was made.
func NotSent(err error) bool {
	known := (*Error)(nil)
	return errors.As(err, &known) && known.Local
}

// Unsent is the error of a change that ended before the catalog got it.
func Unsent(err error) error {
	class := Refused
	switch blobio.Class(err) {
	case blobio.ErrTransient, blobio.ErrThrottled, blobio.ErrUnknown:
		class = Later
	}
	if errors.Is(err, icecatalog.ErrNoSuchTable) {
		class = Gone
	}
	return &Error{Class: class, Local: true, Err: err}
}

// RequestedPause is how long the catalog requested to wait, at most maxRequestedPause.
func RequestedPause(err error) time.Duration {
	if known := (*Error)(nil); errors.As(err, &known) {
		return min(known.After, maxRequestedPause)
	}
	return 0
}

// maxRequestedPause bounds a Retry-After: a catalog that is away for longer ends the command.
const maxRequestedPause = 2 * time.Minute

// OfStatus is the class of an HTTP status. proper: the body is an error as the REST specification defines it, so that it
// comes from the catalog and not from a proxy that may have passed the request on.
func OfStatus(status int, proper bool) Class {
	switch {
	case !proper, status >= 500 && status != http.StatusNotImplemented, status < 400:
		return Unknown
	case status == http.StatusBadRequest:
		return Bad
	case status == http.StatusNotFound:
		return Gone
	case status == http.StatusConflict:
		return Conflict
	case status == http.StatusTooManyRequests:
		return Later
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return Unknown
	}
	return Refused
}
