package blobio

import (
	"context"
	"errors"
	"time"

	"github.com/shardcat/shardcat/internal/apierror"
	"github.com/shardcat/shardcat/urlresolve"
)

// The classes of errors. Each error of this package and its drivers matches exactly one of them by errors.Is.
// A driver decides on the provider's own answer: a store that is busy, unreachable or refuses must never look
// like one that has no such object.
var (
	// ErrNotFound: the store reported, with authority, that there is no such object.
	ErrNotFound = apierror.ErrNotFound
	// ErrDenied: the store refused: credentials, permission, a full or read-only disk.
	ErrDenied = apierror.ErrDenied
	// ErrThrottled: the store throttles; nothing was done.
	ErrThrottled = apierror.ErrThrottled
	// ErrExists: a precondition failed, for Create that the key is free.
	ErrExists = apierror.ErrExists
	// ErrConflict: another writer of the same key is at work; nothing was done.
	ErrConflict = apierror.ErrConflict
	// ErrRange: the range ends beyond the object.
	ErrRange = apierror.ErrRange
	// ErrTransient: a fault of network or store that may not come again. A write may have been done.
	ErrTransient = apierror.ErrTransient
	// ErrUnknown: none of the others. A write may have been done.
	ErrUnknown = apierror.ErrUnknown
	// ErrCanceled: the caller's context ended. A write may have been done.
	ErrCanceled = apierror.ErrCanceled
	// ErrClosed: the Client, bucket, reader or writer was closed before.
	ErrClosed = apierror.ErrClosed
	// ErrChanged: the object is not the one that was opened: someone replaced it in place.
	ErrChanged = apierror.ErrChanged
	// ErrDamaged: what was read back is not what was written. The object was deleted.
	ErrDamaged = errors.New("the store returned different bytes than were written")
)

// ErrNoCondition is matched by the error of a create that the store refused because it knows no conditions; nothing was
// written. It is no class: the error is ErrDenied.
var ErrNoCondition = errors.New("the store does not support conditional creation (If-None-Match)")

// classes in the order in which an error that would match several is decided.
var classes = []error{ErrCanceled, ErrClosed, ErrChanged, ErrNotFound, ErrDenied, ErrThrottled, ErrExists,
	ErrConflict, ErrRange, ErrDamaged, ErrTransient, ErrUnknown}

// Error is a failed operation on an object. It matches its Class and whatever its cause matches.
type Error struct {
	// Op in one word: "read", "open", "stat", "list", "create", "delete".
	Op string
	// URL of the object, without secrets.
	URL string
	// Class is one of this package's sentinels.
	Class error
	// Err is the cause, which must hold no secret; nil where the class states it all.
	Err error
	// RetryAfter is how long the store requested to wait, 0 if it did not.
	RetryAfter time.Duration
}

// NewError makes an *Error. Its RetryAfter is that of the cause: any error in the chain may report how long the store requested to
// wait by a method WaitFor() time.Duration.
func NewError(op, url string, class, cause error) error {
	return &Error{Op: op, URL: urlresolve.Redact(url), Class: class, Err: cause, RetryAfter: retryAfter(cause)}
}

// Error implements error, on one line.
func (e *Error) Error() string {
	s := e.Op + " " + e.URL + ": " + e.Class.Error()
	if e.Err != nil && e.Err != e.Class {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Err}
}

// Class is the class of an error: one of the sentinels, ErrUnknown for an error that isn't this package's,
// nil for nil.
func Class(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	for _, class := range classes {
		if errors.Is(err, class) {
			return class
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ErrCanceled
	}
	return ErrUnknown
}

// retryAfter is how long the store requested to wait before the next attempt, 0 if it did not say.
func retryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return e.RetryAfter
	}
	var asks interface{ WaitFor() time.Duration }
	if errors.As(err, &asks) {
		return asks.WaitFor()
	}
	return 0
}

// wrap makes err an *Error if it isn't one yet.
func wrap(op, url string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return NewError(op, url, Class(err), err)
}
