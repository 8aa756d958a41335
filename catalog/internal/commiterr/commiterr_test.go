package commiterr

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/shardcat/shardcat/blobio"
)

// TestClassOf: an error that the client has classified keeps its class, an error of iceberg-go has the class that its kind proves, and any other one
// proves nothing.
func TestClassOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Class
	}{
		{nil, Unknown},
		{errors.New("no kind"), Unknown},
		{io.ErrUnexpectedEOF, Unknown},
		{context.Canceled, Unknown},
		{fmt.Errorf("%w: %w", context.DeadlineExceeded, table.ErrCommitFailed), Unknown},
		{rest.ErrServerError, Unknown},
		{rest.ErrCommitStateUnknown, Unknown},
		{table.ErrCommitFailed, Conflict},
		{icecatalog.ErrTableAlreadyExists, Conflict},
		{icecatalog.ErrNoSuchTable, Gone},
		{rest.ErrBadRequest, Bad},
		{table.ErrInvalidMetadata, Refused},
		{icecatalog.ErrNoSuchNamespace, Refused},
		{iceberg.ErrNotImplemented, Refused},
		{rest.ErrForbidden, Refused},
		{rest.ErrUnauthorized, Refused},
		{rest.ErrAuthorizationExpired, Refused},
		{&Error{Class: Later, Err: table.ErrCommitFailed}, Later},
		{&Error{Class: Unknown, Err: table.ErrCommitFailed}, Unknown},
	} {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("%v: class %d, want %d", c.err, got, c.want)
		}
		if c.err == nil {
			continue
		}
		if got := ClassOf(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
			t.Errorf("%v, wrapped: class %d, want %d", c.err, got, c.want)
		}
	}
}

// TestOfStatus: a status proves something only with an error body of the catalog; a server error and a timeout prove nothing even then.
func TestOfStatus(t *testing.T) {
	for status, want := range map[int]Class{
		http.StatusOK: Unknown, http.StatusFound: Unknown, http.StatusBadRequest: Bad, http.StatusUnauthorized: Refused, http.StatusForbidden: Refused,
		http.StatusNotFound: Gone, http.StatusMethodNotAllowed: Refused, http.StatusRequestTimeout: Unknown, http.StatusConflict: Conflict,
		http.StatusUnprocessableEntity: Refused, http.StatusTooEarly: Unknown, http.StatusTooManyRequests: Later, http.StatusInternalServerError: Unknown,
		http.StatusNotImplemented: Refused, http.StatusBadGateway: Unknown, http.StatusServiceUnavailable: Unknown, http.StatusGatewayTimeout: Unknown,
	} {
		if got := OfStatus(status, true); got != want {
			t.Errorf("%d: class %d, want %d", status, got, want)
		}
		if got := OfStatus(status, false); got != Unknown {
			t.Errorf("%d without an error body: class %d", status, got)
		}
	}
}

// TestUnsent: a change that was not sent is known not to be committed. Faults of a store that may pass are Later, a missing table is Gone.
func TestUnsent(t *testing.T) {
	for err, want := range map[error]Class{
		&blobio.Error{Class: blobio.ErrTransient}: Later, &blobio.Error{Class: blobio.ErrThrottled}: Later, &blobio.Error{Class: blobio.ErrUnknown}: Later,
		&blobio.Error{Class: blobio.ErrNotFound}: Refused, errors.New("no kind"): Later, icecatalog.ErrNoSuchTable: Gone,
	} {
		unsent := Unsent(err)
		if got := ClassOf(unsent); got != want || !NotSent(unsent) || !errors.Is(unsent, err) {
			t.Errorf("%v: class %d, want %d; not sent: %v", err, got, want, NotSent(unsent))
		}
	}
	if NotSent(nil) || NotSent(errors.New("lost")) || NotSent(&Error{Class: Refused, Err: errors.New("403")}) {
		t.Error("an error of a request that was sent, or may have been, is one that was not")
	}
}

// TestRequestedPause: the pause of a classified error, up to a bound.
func TestRequestedPause(t *testing.T) {
	for pause, want := range map[time.Duration]time.Duration{0: 0, time.Second: time.Second, time.Hour: maxRequestedPause} {
		if got := RequestedPause(fmt.Errorf("wrapped: %w", &Error{After: pause, Err: io.EOF})); got != want {
			t.Errorf("%s: %s, want %s", pause, got, want)
		}
	}
	if got := RequestedPause(io.EOF); got != 0 {
		t.Errorf("%s for an error without a pause", got)
	}
}

// TestIsOutage: connections that fail and a database that starts, stops or is full pass; statements that fail, and calls that were canceled, don't.
func TestIsOutage(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, err := range []error{
		refused, &url.Error{Op: "Get", URL: "http://catalog", Err: refused}, &pgconn.PgError{Code: "08006"}, &pgconn.PgError{Code: "53300"},
		&pgconn.PgError{Code: "57P03"}, driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
	} {
		if !IsOutage(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("%v is no outage", err)
		}
	}
	for _, err := range []error{
		nil, errors.New("no kind"), &pgconn.PgError{Code: "23505"}, &pgconn.PgError{Code: "42P01"}, context.Canceled,
		&url.Error{Op: "Get", URL: "http://catalog", Err: context.Canceled}, fmt.Errorf("%w: %w", context.DeadlineExceeded, io.EOF),
	} {
		if IsOutage(err) {
			t.Errorf("%v is an outage", err)
		}
	}
}
