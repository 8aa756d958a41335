package gcsblob

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"cloud.google.com/go/auth"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// classes of Google's reasons, where the status of the answer does not already say it: the limits on rates
// may come as 403.
var classes = map[string]error{
	"rateLimitExceeded":     blobio.ErrThrottled,
	"userRateLimitExceeded": blobio.ErrThrottled,
	"quotaExceeded":         blobio.ErrThrottled,
	"dailyLimitExceeded":    blobio.ErrThrottled,
	"slowDown":              blobio.ErrThrottled,
	"conditionNotMet":       blobio.ErrExists,
}

// explain finds what the store reported, or what the network did in its place.
func explain(ctx context.Context, err error) (cause, class error) {
	var handed *apierror.HandedOut
	if errors.As(err, &handed) {
		return handed, handed.Class(ctx)
	}
	var missing *credentialsError
	if errors.As(err, &missing) {
		return missing, blobio.ErrDenied
	}
	var refused *auth.Error
	if errors.As(err, &refused) && refused.Response != nil {
		return unauthenticated(refused.Response.StatusCode)
	}
	var retrieve *oauth2.RetrieveError
	if errors.As(err, &retrieve) && retrieve.Response != nil {
		return unauthenticated(retrieve.Response.StatusCode)
	}
	var response *googleapi.Error
	if !errors.As(err, &response) {
		return apierror.Redact(err), apierror.OfNetwork(ctx, err)
	}
	said := &apierror.Error{Status: response.Code, RetryAfter: apierror.RetryAfter(response.Header)}
	said.Code, said.Message = reason(response)
	if to := apierror.Redirected(response.Code, response.Header); to != "" {
		said.Message = to
	}
	if class := classes[said.Code]; class != nil {
		return said, class
	}
	return said, apierror.OfStatus(said.Status)
}

// reason is why the store refused, in a word and in a sentence. The library reads it from the answers to all
// calls but downloads, which leave it in the body.
func reason(e *googleapi.Error) (code, message string) {
	if len(e.Errors) > 0 {
		return e.Errors[0].Reason, e.Message
	}
	var body struct {
		Error struct {
			Message string
			Errors  []struct{ Reason string }
		}
	}
	if json.Unmarshal([]byte(e.Body), &body) != nil || len(body.Error.Errors) == 0 {
		return "", e.Message
	}
	return body.Error.Errors[0].Reason, body.Error.Message
}

// unauthenticated is the refusal of the token service, without the request.
func unauthenticated(status int) (cause, class error) {
	return &apierror.Error{Status: status, Code: "token", Message: "no access token was issued"}, apierror.OfTokenStatus(status)
}

// credentialsError means that there are no application default credentials.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string {
	first, _, _ := strings.Cut(apierror.Redact(e.err).Error(), "\n")
	return "no usable Google credentials in the environment, gcloud's files or the instance " +
		"(set GOOGLE_APPLICATION_CREDENTIALS, or ?anonymous=true for a public bucket): " + first
}

func (e *credentialsError) Unwrap() error { return e.err }
