package catalog

import (
	"errors"
	"fmt"

	icecatalog "github.com/apache/iceberg-go/catalog"
)

// The errors that callers test for with errors.Is.
var (
	// ErrNotFound: no such table, namespace, snapshot or ref.
	ErrNotFound = errors.New("not found")
	// ErrExists: the table, or the entry, is already there.
	ErrExists = errors.New("already exists")
	// ErrConflict: another writer won, and trying again can't settle it.
	ErrConflict = errors.New("conflict with another writer")
	// ErrUnsafe: refused because data might be lost or exposed.
	ErrUnsafe = errors.New("refused as unsafe")
	// ErrUnknownOutcome: the commit may or may not have happened, and the catalog could not be reached. The job
	// stays open; delivering it again, with the same job id, settles it.
	ErrUnknownOutcome = errors.New("it is unknown whether the commit happened")
	// ErrRefused: the catalog refused a change, for a reason that another attempt does not change. Nothing was committed.
	ErrRefused = errors.New("the catalog refused the change")
	// ErrInvalid: an argument that can't be meant.
	ErrInvalid = errors.New("invalid argument")
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
