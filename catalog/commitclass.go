package catalog

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
)

// commitClass is what the error of a commit request proves.
type commitClass int

const (
	// commitUnknown: the change may have been committed, or may be committed later.
	commitUnknown commitClass = iota
	// commitConflict: this request committed nothing, because the table is not in the required state.
	commitConflict
	// commitRefused: this request committed nothing, and the same request will not succeed later.
	commitRefused
	// commitBad: commitRefused, by a status that some catalogs use for a conflict too.
	commitBad
	// commitGone: this request committed nothing, because the catalog has no such table.
	commitGone
	// commitLater: this request committed nothing, and may succeed later.
	commitLater
)

// commitError is the error of a commit request whose class the catalog's client knows.
type commitError struct {
	class commitClass
	// after is the pause that the catalog requested, 0 for none.
	after time.Duration
	// local: no request was made. invalid: because the change makes no valid table.
	local, invalid bool
	// status of the response, 0 for none.
	status int
	err    error
}

func (e *commitError) Error() string { return e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// commitClassOf returns what the error of a commit request proves. No error proves nothing here: settle looks at the state
// that came with it.
func commitClassOf(err error) commitClass {
	if known := (*commitError)(nil); errors.As(err, &known) {
		return known.class
	}
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return commitUnknown
	case errors.Is(err, table.ErrCommitFailed), errors.Is(err, icecatalog.ErrTableAlreadyExists):
		return commitConflict
	case errors.Is(err, icecatalog.ErrNoSuchTable):
		return commitGone
	case errors.Is(err, rest.ErrBadRequest):
		return commitBad
	case errors.Is(err, table.ErrInvalidMetadata), errors.Is(err, icecatalog.ErrNoSuchNamespace), errors.Is(err, iceberg.ErrNotImplemented),
		errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrUnauthorized), errors.Is(err, rest.ErrAuthorizationExpired):
		return commitRefused
	}
	return commitUnknown
}

// notSent reports whether a change ended before a request was made.
func notSent(err error) bool {
	known := (*commitError)(nil)
	return errors.As(err, &known) && known.local
}

// requestedPause is how long the catalog requested to wait, at most maxRequestedPause.
func requestedPause(err error) time.Duration {
	if known := (*commitError)(nil); errors.As(err, &known) {
		return min(known.after, maxRequestedPause)
	}
	return 0
}

// maxRequestedPause bounds a Retry-After: a catalog that is away for longer ends the command.
const maxRequestedPause = 2 * time.Minute

// statusClass is the class of an HTTP status. proper: the body is an error as the REST specification defines it, so that it
// comes from the catalog and not from a proxy that may have passed the request on.
func statusClass(status int, proper bool) commitClass {
	switch {
	case !proper, status >= 500 && status != http.StatusNotImplemented, status < 400:
		return commitUnknown
	case status == http.StatusBadRequest:
		return commitBad
	case status == http.StatusNotFound:
		return commitGone
	case status == http.StatusConflict:
		return commitConflict
	case status == http.StatusTooManyRequests:
		return commitLater
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return commitUnknown
	}
	return commitRefused
}
