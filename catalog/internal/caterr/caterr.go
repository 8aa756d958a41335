// Package caterr holds the errors that the packages of a catalog return and that callers of package catalog test for with errors.Is.
package caterr

import "errors"

var (
	// ErrNotFound: no such table, namespace, snapshot or ref.
	ErrNotFound = errors.New("not found")
	// ErrExists: the table, or the entry, is already there.
	ErrExists = errors.New("already exists")
	// ErrConflict: another writer won, and trying again can't settle it.
	ErrConflict = errors.New("conflict with another writer")
	// ErrUnsafe: refused because data might be lost or exposed.
	ErrUnsafe = errors.New("refused as unsafe")
	// ErrUnknownOutcome: the commit may or may not have happened, and the catalog could not be reached.
	ErrUnknownOutcome = errors.New("it is unknown whether the commit happened")
	// ErrRefused: the catalog refused a change, for a reason that another attempt does not change. Nothing was committed.
	ErrRefused = errors.New("the catalog refused the change")
	// ErrInvalid: an invalid argument.
	ErrInvalid = errors.New("invalid argument")
	// ErrUnreachable: the catalog's server is away. It may come back.
	ErrUnreachable = errors.New("the catalog is unreachable")
	// ErrLeaseLost: another process has taken over what this one held a lease for. Nothing was committed by this one.
	ErrLeaseLost = errors.New("the lease was taken over")
)
