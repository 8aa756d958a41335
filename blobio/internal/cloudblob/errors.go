package cloudblob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/gcerrors"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
	"github.com/shardcat/shardcat/internal/httptransport"
	"github.com/shardcat/shardcat/urlresolve"
)

// request lets gocloud, or the provider's client, make one request. It makes an error of a panic: they follow
// pointers to headers and elements that a store may have left out of its answer, such as the time of the last
// modification.
func request(ctx context.Context, kind httptransport.Kind, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: malformed response: %v", blobio.ErrUnknown, p)
		}
	}()
	return httptransport.Request(ctx, kind, do)
}

// fail makes the error of an operation on a key: its class from the provider's own code, its text without
// anything of the request.
func (b *Bucket) fail(ctx context.Context, op, key string, err error) error {
	var told *blobio.Error
	if errors.As(err, &told) {
		return err
	}
	url := b.root + urlresolve.EscapeKey(key)
	if class := apierror.Own(err); class != nil {
		return blobio.NewError(op, url, class, err)
	}
	switch {
	case errors.Is(err, httptransport.ErrSecondRequest):
		return blobio.NewError(op, url, blobio.ErrTransient, io.ErrUnexpectedEOF)
	case errors.Is(err, httptransport.ErrRedirect):
		return blobio.NewError(op, url, blobio.ErrDenied, httptransport.ErrRedirect)
	case errors.Is(err, httptransport.ErrUnplaced):
		return blobio.NewError(op, url, blobio.ErrUnknown, httptransport.ErrUnplaced)
	case ctx.Err() != nil:
		return blobio.NewError(op, url, blobio.ErrCanceled, context.Cause(ctx))
	}
	cause, class := b.opts.Explain(ctx, err)
	return blobio.NewError(op, url, class, cause)
}

// codes are gocloud's classes of errors in blobio's terms.
var codes = map[gcerrors.ErrorCode]error{
	gcerrors.NotFound:           blobio.ErrNotFound,
	gcerrors.AlreadyExists:      blobio.ErrExists,
	gcerrors.FailedPrecondition: blobio.ErrExists,
	gcerrors.PermissionDenied:   blobio.ErrDenied,
	gcerrors.ResourceExhausted:  blobio.ErrThrottled,
	gcerrors.Internal:           blobio.ErrTransient,
	gcerrors.DeadlineExceeded:   blobio.ErrTransient,
	gcerrors.Canceled:           blobio.ErrCanceled,
}

// explain goes by gocloud's codes, and by the network's errors below them.
func explain(ctx context.Context, err error) (cause, class error) {
	if class := apierror.OfNetwork(ctx, err); class == blobio.ErrTransient {
		return apierror.Redact(err), class
	}
	if class := codes[gcerrors.Code(err)]; class != nil {
		return apierror.Redact(err), class
	}
	return apierror.Redact(err), blobio.ErrUnknown
}
