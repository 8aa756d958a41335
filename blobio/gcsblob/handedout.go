package gcsblob

import (
	"errors"
	"net/http"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// handedOut authorizes requests by tokens that an Iceberg catalog hands out.
type handedOut struct {
	ask  blobio.Credentials
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h *handedOut) RoundTrip(r *http.Request) (*http.Response, error) {
	keys, _, err := h.ask(r.Context())
	if err == nil && keys["gcs.oauth2.token"] == "" {
		err = errors.New("the catalog vends no Google Cloud Storage token for this location")
	}
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, &apierror.HandedOut{Err: err}
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+keys["gcs.oauth2.token"])
	return h.base.RoundTrip(r)
}
