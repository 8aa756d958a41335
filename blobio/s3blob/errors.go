package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// classes of S3's error codes, where the status of the answer does not already say it.
var classes = map[string]error{
	"NoSuchKey":     blobio.ErrNotFound,
	"NoSuchVersion": blobio.ErrNotFound,
	"NoSuchBucket":  blobio.ErrNotFound,
	"NotFound":      blobio.ErrNotFound,

	"AccessDenied":                       blobio.ErrDenied,
	"AllAccessDisabled":                  blobio.ErrDenied,
	"AccountProblem":                     blobio.ErrDenied,
	"ExpiredToken":                       blobio.ErrDenied,
	"InvalidAccessKeyId":                 blobio.ErrDenied,
	"InvalidToken":                       blobio.ErrDenied,
	"SignatureDoesNotMatch":              blobio.ErrDenied,
	"TokenRefreshRequired":               blobio.ErrDenied,
	"AuthorizationHeaderMalformed":       blobio.ErrDenied, // signed for another region
	"IllegalLocationConstraintException": blobio.ErrDenied,

	"SlowDown":               blobio.ErrThrottled,
	"RequestLimitExceeded":   blobio.ErrThrottled,
	"Throttling":             blobio.ErrThrottled,
	"ThrottlingException":    blobio.ErrThrottled,
	"TooManyRequests":        blobio.ErrThrottled,
	"BandwidthLimitExceeded": blobio.ErrThrottled,
	"ServiceUnavailable":     blobio.ErrThrottled,

	"PreconditionFailed":         blobio.ErrExists,
	"ConditionalRequestConflict": blobio.ErrConflict,
	"OperationAborted":           blobio.ErrConflict,
	"InvalidRange":               blobio.ErrRange,

	"InternalError":  blobio.ErrTransient,
	"RequestTimeout": blobio.ErrTransient,
	"IncompleteBody": blobio.ErrTransient,
	"BadDigest":      blobio.ErrTransient, // what arrived is not what was sent
	skewed:           blobio.ErrTransient, // the SDK corrects its clock by the answer
}

// regionHeader names the region a bucket lies in, also on answers that refuse.
const regionHeader = "X-Amz-Bucket-Region"

// credentialsError means that the SDK's chain has no credentials to sign with.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string {
	return "no usable AWS credentials in the environment, shared files or instance metadata " +
		"(set them, or ?anonymous=true for a public bucket): " + apierror.OneLine(apierror.Redact(e.err))
}

// class reports a service of tokens that is busy or away, which may pass, from having none. A machine that is
// no instance has no instance metadata either, and will have none later.
func (e *credentialsError) class(ctx context.Context) error {
	var response *awshttp.ResponseError
	if errors.As(e.err, &response) {
		return apierror.OfTokenStatus(response.HTTPStatusCode())
	}
	if !strings.Contains(e.err.Error(), "IMDS") && apierror.OfNetwork(ctx, e.err) == blobio.ErrTransient {
		return blobio.ErrTransient
	}
	return blobio.ErrDenied
}

func (e *credentialsError) Unwrap() error { return e.err }

// checkedCredentials marks the errors of a chain, so that they are distinguished from the store's.
type checkedCredentials struct{ aws.CredentialsProvider }

func (c checkedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		err = &credentialsError{err}
	}
	return got, err
}

// explain finds what the store reported, or what the network did in its place.
func explain(ctx context.Context, err error) (cause, class error) {
	var handed *apierror.HandedOut
	if errors.As(err, &handed) {
		return handed, handed.Class(ctx)
	}
	var missing *credentialsError
	if errors.As(err, &missing) {
		return missing, missing.class(ctx)
	}
	said := &apierror.Error{}
	var response *awshttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		said.Status = response.HTTPStatusCode()
		said.RequestID = response.ServiceRequestID()
		said.RetryAfter = apierror.RetryAfter(response.Response.Header)
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		said.Code, said.Message = api.ErrorCode(), api.ErrorMessage()
	}
	if off := clockOff(said, response); off != 0 {
		said.Code = skewed
		said.Message = fmt.Sprintf("this machine's clock is %s off the store's; set the clock (NTP)", off)
	}
	switch {
	case wrongRegion(said, response):
		said.Message = elsewhere(said.Message, response)
		return said, blobio.ErrDenied
	case advice[said.Code] != "" || strings.Contains(said.Message, "object lock"):
		if said.Message += "; " + advice[said.Code]; advice[said.Code] == "" {
			said.Message += advice["ObjectLocked"]
		}
		return said, blobio.ErrDenied
	case reads(response) && hasMissing(said):
		said.Message += missingHint
		return said, blobio.ErrDenied
	case classes[said.Code] != nil:
		return said, classes[said.Code]
	case said.Status >= 300:
		return said, apierror.OfStatus(said.Status)
	}
	if noRegion(err) {
		return errNoRegion, blobio.ErrUnknown
	}
	return apierror.Redact(err), apierror.OfNetwork(ctx, err)
}

// errNoRegion: the SDK finds no endpoint, so no request was made.
var errNoRegion = errors.New("no region is set: set the bucket's with ?region=, AWS_REGION or the profile's region, or a store's own ?endpoint=")

// noRegion reports whether the SDK has no region to find the endpoint by; it has no type for that.
func noRegion(err error) bool {
	var resolve *smithy.OperationError
	return errors.As(err, &resolve) && (strings.Contains(err.Error(), "A region must be set") || strings.Contains(err.Error(), "Invalid region: region was not a valid DNS name"))
}

// skewed is the code of a refusal because of the time at which a request was signed.
const skewed = "RequestTimeTooSkewed"

// clockOff is how far the time of a refused request was off that of its answer, 0 if the refusal has another reason. An
// answer to a HEAD has no code, but a date; stores refuse from 15 minutes on, and the SDK signs the next request by the
// date of this answer.
func clockOff(said *apierror.Error, response *awshttp.ResponseError) time.Duration {
	const enough = 5 * time.Minute
	if said.Status != http.StatusForbidden || said.Code != "" && said.Code != "Forbidden" ||
		response == nil || response.Response == nil || response.Response.Response == nil || response.Response.Request == nil {
		return 0
	}
	signed, err1 := time.Parse("20060102T150405Z", response.Response.Request.Header.Get("X-Amz-Date"))
	store, err2 := http.ParseTime(response.Response.Header.Get("Date"))
	off := signed.Sub(store).Round(time.Second)
	if err1 != nil || err2 != nil || off.Abs() < enough {
		return 0
	}
	return off
}

// wrongRegion reports a refusal that is about the region, or the endpoint, that was called.
func wrongRegion(said *apierror.Error, response *awshttp.ResponseError) bool {
	switch said.Code {
	case "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "InvalidRegionName", "PermanentRedirect", "TemporaryRedirect":
		return true
	}
	if response == nil || response.Response == nil {
		return false
	}
	named := response.Response.Header.Get(regionHeader) != ""
	return apierror.Redirected(said.Status, response.Response.Header) != "" || named && (said.Status == http.StatusBadRequest || said.Code == "SignatureDoesNotMatch")
}

// elsewhere reports where a bucket lies, if the store does, and how to say it.
func elsewhere(message string, response *awshttp.ResponseError) string {
	region := ""
	if response != nil && response.Response != nil {
		region = response.Response.Header.Get(regionHeader)
	}
	if region != "" {
		return "the bucket is in region " + region + "; set ?region=" + region
	}
	if response != nil && response.Response != nil {
		if to := apierror.Redirected(response.HTTPStatusCode(), response.Response.Header); to != "" {
			return to + "; a store also redirects requests to the wrong region: set the bucket's with ?region="
		}
	}
	if message != "" {
		message += "; "
	}
	return message + "the store expects another region or endpoint; set the bucket's with ?region="
}

// advice is what to do about refusals that the words of the store do not explain.
var advice = map[string]string{
	"InvalidObjectState": "the object is in an archive tier: restore it, and take table data out of lifecycle rules that archive",
	"ObjectLocked":       "a retention rule or legal hold protects the object: collect after it ends, or exempt the table's prefix",
}

// reads reports whether a refusal is that of a GET or HEAD.
func reads(response *awshttp.ResponseError) bool {
	if response == nil || response.Response == nil || response.Response.Response == nil || response.Response.Request == nil {
		return false
	}
	method := response.Response.Request.Method
	return method == http.MethodGet || method == http.MethodHead
}

// missingHint goes with refusals that may be about an object that is missing.
const missingHint = "; the store also refuses requests for missing objects unless s3:ListBucket is granted on the bucket"

// hasMissing reports a refusal of a right, or one without words as a HEAD gets it.
func hasMissing(said *apierror.Error) bool {
	return said.Status == http.StatusForbidden && (said.Code == "AccessDenied" || said.Code == "Forbidden" || said.Code == "")
}

// refusesCondition reports whether a store refused a create because it knows no If-None-Match.
func refusesCondition(ctx context.Context, err error) bool {
	cause, _ := explain(ctx, err)
	said, ok := cause.(*apierror.Error)
	if !ok {
		return false
	}
	words := strings.ToLower(said.Message)
	return said.Status == http.StatusNotImplemented || said.Code == "NotImplemented" || said.Status == http.StatusBadRequest &&
		(strings.Contains(words, "if-none-match") || strings.Contains(words, "implies functionality") || strings.Contains(words, "conditional"))
}

// notImplemented reports whether the store knows the request but not a header of it.
func notImplemented(ctx context.Context, err error) bool {
	cause, _ := explain(ctx, err)
	said, ok := cause.(*apierror.Error)
	return ok && (said.Status == http.StatusNotImplemented || said.Code == "NotImplemented")
}
