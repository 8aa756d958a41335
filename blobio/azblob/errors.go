package azblob

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// classes of Azure's error codes, where the status of the answer does not already say it.
var classes = map[bloberror.Code]error{
	bloberror.BlobNotFound:      blobio.ErrNotFound,
	bloberror.ContainerNotFound: blobio.ErrNotFound,
	bloberror.ResourceNotFound:  blobio.ErrNotFound,

	bloberror.BlobImmutableDueToPolicy:              blobio.ErrDenied,
	bloberror.LeaseIDMissing:                        blobio.ErrDenied, // somebody holds the blob
	bloberror.LeaseLost:                             blobio.ErrDenied,
	bloberror.LeaseIDMismatchWithBlobOperation:      blobio.ErrDenied,
	bloberror.LeaseIDMismatchWithContainerOperation: blobio.ErrDenied,
	bloberror.BlobArchived:                          blobio.ErrDenied,
	bloberror.BlobBeingRehydrated:                   blobio.ErrDenied,
	bloberror.SnapshotsPresent:                      blobio.ErrDenied,
	"BlobImmutableDueToLegalHold":                   blobio.ErrDenied,
	"DirectoryIsNotEmpty":                           blobio.ErrDenied,
	"ContainerDisabled":                             blobio.ErrDenied,
	bloberror.AccountIsDisabled:                     blobio.ErrDenied,
	bloberror.BlobUsesCustomerSpecifiedEncryption:   blobio.ErrDenied,
	"PublicAccessNotPermitted":                      blobio.ErrDenied,
	"KeyBasedAuthenticationNotPermitted":            blobio.ErrDenied,

	bloberror.ServerBusy: blobio.ErrThrottled,

	bloberror.BlobAlreadyExists:         blobio.ErrExists,
	bloberror.ConditionNotMet:           blobio.ErrExists,
	bloberror.TargetConditionNotMet:     blobio.ErrExists,
	bloberror.UnauthorizedBlobOverwrite: blobio.ErrExists, // a signature that may create but not replace

	bloberror.ContainerBeingDeleted: blobio.ErrConflict,
	bloberror.InvalidBlockList:      blobio.ErrConflict, // another writer's commit dropped the blocks
	bloberror.InvalidBlobOrBlock:    blobio.ErrConflict,
	bloberror.InvalidRange:          blobio.ErrRange,

	bloberror.InternalError:     blobio.ErrTransient,
	bloberror.OperationTimedOut: blobio.ErrTransient,
	bloberror.MD5Mismatch:       blobio.ErrTransient,
	bloberror.CRC64Mismatch:     blobio.ErrTransient,
}

// explain finds what the store reported, or what the network did in its place.
func explain(ctx context.Context, err error) (cause, class error) {
	var handed *apierror.HandedOut
	if errors.As(err, &handed) {
		return handed, handed.Class(ctx)
	}
	var token *tokenError
	if errors.As(err, &token) {
		return token, token.class()
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return apierror.Redact(err), apierror.OfNetwork(ctx, err)
	}
	said := &apierror.Error{Status: response.StatusCode, Code: response.ErrorCode}
	if raw := response.RawResponse; raw != nil {
		said.RequestID = raw.Header.Get("X-Ms-Request-Id")
		said.RetryAfter = apierror.RetryAfter(raw.Header)
		said.Message = message(raw.Body)
		if to := apierror.Redirected(raw.StatusCode, raw.Header); to != "" {
			said.Message = to
		}
	}
	if do := advice[bloberror.Code(said.Code)]; do != "" {
		said.Message = strings.TrimPrefix(said.Message+"; "+do, "; ")
	}
	if class := classes[bloberror.Code(said.Code)]; class != nil {
		return said, class
	}
	return said, apierror.OfStatus(said.Status)
}

const leaseAdvice = "the blob is leased: break the lease (az storage blob lease break)"

// advice is what to do about refusals that last until somebody does something.
var advice = map[bloberror.Code]string{
	bloberror.BlobArchived:                          "the blob is in the archive tier: rehydrate it, and take table data out of lifecycle rules that archive",
	bloberror.BlobBeingRehydrated:                   "the blob is being rehydrated from the archive tier: retry in a few hours",
	bloberror.SnapshotsPresent:                      "the blob has snapshots, which must be deleted first: use soft delete or versioning on the account instead",
	bloberror.LeaseIDMissing:                        leaseAdvice,
	bloberror.LeaseLost:                             leaseAdvice,
	bloberror.LeaseIDMismatchWithBlobOperation:      leaseAdvice,
	bloberror.LeaseIDMismatchWithContainerOperation: "the container is leased: break the lease (az storage container lease break)",
	bloberror.BlobUsesCustomerSpecifiedEncryption:   "the blob is encrypted with a customer-provided key: shardcat reads blobs encrypted with the account's keys or encryption scopes",
	bloberror.BlobImmutableDueToPolicy:              "an immutability policy protects the blob: collect after it ends, or exempt the table's container",
	"BlobImmutableDueToLegalHold":                   "a legal hold protects the blob: clear it, or exempt the table's container",
}

// message is the first line of Azure's explanation. The rest repeats the request, with what was signed.
func message(body io.Reader) string {
	var said struct{ Message string }
	if body == nil || xml.NewDecoder(io.LimitReader(body, 64<<10)).Decode(&said) != nil {
		return ""
	}
	first, _, _ := strings.Cut(said.Message, "\n")
	return strings.TrimSpace(first)
}

// tokenError means that the SDK's chain has no token to send.
type tokenError struct{ err error }

func (e *tokenError) Error() string {
	first, _, _ := strings.Cut(apierror.Redact(e.err).Error(), "\n")
	return "no usable Azure credential in the environment, the instance's identity or az login " +
		"(or ?credential=anonymous for a public container): " + first
}

// class reports a service of tokens that is busy, which may pass, from having none.
func (e *tokenError) class() error {
	var failed *azidentity.AuthenticationFailedError
	if errors.As(e.err, &failed) && failed.RawResponse != nil {
		return apierror.OfTokenStatus(failed.RawResponse.StatusCode)
	}
	return blobio.ErrDenied
}

func (e *tokenError) Unwrap() error { return e.err }

// checkedToken marks the errors of a chain, so that they are distinguished from the store's.
type checkedToken struct{ azcore.TokenCredential }

func (c checkedToken) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, o)
	if err != nil && ctx.Err() == nil {
		err = &tokenError{err}
	}
	return token, err
}
