package apierror

import (
	"context"
)

// HandedOut: a catalog has no credentials for a request: the request failed, or they are of another kind.
type HandedOut struct{ Err error }

func (e *HandedOut) Error() string { return OneLine(e.Err) }

func (e *HandedOut) Unwrap() error { return e.Err }

// Class distinguishes a catalog that can't be reached from one that refuses.
func (e *HandedOut) Class(ctx context.Context) error {
	if class := OfNetwork(ctx, e.Err); class != ErrUnknown {
		return class
	}
	return ErrDenied
}
