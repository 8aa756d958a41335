// Package corrupt holds the two errors of stored data that can't be read: damaged, and not supported.
//
// Both name the object and the offset at which reading stopped. Code that knows only a slice reports an
// offset relative to that slice; each caller that knows more adds its part with Locate, so that the error
// which reaches a person names the byte of the object.
package corrupt

import (
	"errors"
	"fmt"
)

// The sentinels that callers test with errors.Is.
var (
	// ErrCorrupt: the bytes contradict the format, or a checksum.
	ErrCorrupt = errors.New("corrupt data")
	// ErrUnsupported: the bytes are legal, but this version doesn't read them.
	ErrUnsupported = errors.New("unsupported data")
)

// Error is stored data that can't be read. It matches its Kind by errors.Is.
type Error struct {
	// Kind is ErrCorrupt or ErrUnsupported.
	Kind error
	// Object is the URL of the object, without secrets; empty while not known.
	Object string
	// Offset in bytes from the start of Object (or of the slice available, while Object is empty);
	// negative where no offset applies.
	Offset int64
	// What was found, in one line.
	What string
	// Err is the cause, or nil.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Kind.Error()
	if e.Object != "" {
		s += ": " + e.Object
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf(" at offset %d", e.Offset)
	}
	s += ": " + e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// At is damaged data at an offset of the slice available.
func At(offset int64, format string, args ...any) error {
	return &Error{Kind: ErrCorrupt, Offset: offset, What: fmt.Sprintf(format, args...)}
}

// Unsupported is legal data of a kind that is not read, at an offset of the slice available.
func Unsupported(offset int64, format string, args ...any) error {
	return &Error{Kind: ErrUnsupported, Offset: offset, What: fmt.Sprintf(format, args...)}
}

// Locate adds to an error of this package where its slice lies: base bytes into what the caller holds,
// and, where the caller knows it, the object. An error that already names an object, or is none of this
// package, is returned as it is.
func Locate(err error, object string, base int64) error {
	if err == nil {
		return nil // before e, which is on the heap: decoders come here for every block
	}
	var e *Error
	if !errors.As(err, &e) || e.Object != "" {
		return err
	}
	moved := *e
	moved.Object = object
	if moved.Offset >= 0 {
		moved.Offset += base
	}
	return &moved
}
