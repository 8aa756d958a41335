package apierror

import "errors"

// The classes of errors, which package blobio exports and explains.
var (
	ErrNotFound  = errors.New("not found")
	ErrDenied    = errors.New("refused by the store")
	ErrThrottled = errors.New("store is busy")
	ErrExists    = errors.New("already exists")
	ErrConflict  = errors.New("conflicting write in progress")
	ErrRange     = errors.New("range beyond the end of the object")
	ErrTransient = errors.New("store unreachable")
	ErrUnknown   = errors.New("request failed")
	ErrCanceled  = errors.New("canceled")
	ErrClosed    = errors.New("already closed")
	ErrChanged   = errors.New("object was replaced while it was read")
)
