package catalog

import (
	"errors"
	"fmt"

	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
)

// The errors that callers test for with errors.Is.
var (
	// ErrNotFound: no such table, namespace, snapshot or ref.
	ErrNotFound = caterr.ErrNotFound
	// ErrExists: the table, or the entry, is already there.
	ErrExists = caterr.ErrExists
	// ErrConflict: another writer won, and trying again can't settle it.
	ErrConflict = caterr.ErrConflict
	// ErrUnsafe: refused because data might be lost or exposed.
	ErrUnsafe = caterr.ErrUnsafe
	// ErrUnknownOutcome: the commit may or may not have happened, and the catalog could not be reached. The job
	// stays open; delivering it again, with the same job id, settles it.
	ErrUnknownOutcome = caterr.ErrUnknownOutcome
	// ErrRefused: the catalog refused a change, for a reason that another attempt does not change. Nothing was committed.
	ErrRefused = caterr.ErrRefused
	// ErrInvalid: an invalid argument.
	ErrInvalid = caterr.ErrInvalid
	// ErrUnreachable: the catalog's server is away. It may come back.
	ErrUnreachable = caterr.ErrUnreachable
	// ErrLeaseLost: another process has taken over what this one held a lease for. Nothing was committed by this one.
	ErrLeaseLost = caterr.ErrLeaseLost
)

// translate gives iceberg-go's errors this package's classes.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, icecatalog.ErrNoSuchTable), errors.Is(err, icecatalog.ErrNoSuchNamespace):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.Is(err, icecatalog.ErrTableAlreadyExists), errors.Is(err, icecatalog.ErrNamespaceAlreadyExists):
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	return err
}
