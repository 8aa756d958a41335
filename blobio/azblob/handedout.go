package azblob

import (
	"errors"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// handedOut signs requests by shared access signatures that an Iceberg catalog hands out for an account.
type handedOut struct {
	ask   blobio.Credentials
	place Place
}

// Do implements policy.Policy.
func (h handedOut) Do(r *policy.Request) (*http.Response, error) {
	keys, _, err := h.ask(r.Raw().Context())
	if err != nil {
		return nil, &apierror.HandedOut{Err: err}
	}
	for _, name := range []string{
		"adls.sas-token." + h.place.Account + ".dfs." + h.place.Domain, "adls.sas-token." + h.place.Account + ".blob." + h.place.Domain,
		"adls.sas-token." + h.place.Account, "adls.sas-token",
	} {
		if sas := strings.TrimPrefix(keys[name], "?"); sas != "" {
			raw := r.Raw()
			raw.URL.RawQuery = strings.Trim(raw.URL.RawQuery+"&"+sas, "&")
			return r.Next()
		}
	}
	return nil, &apierror.HandedOut{Err: errors.New("the catalog vends no Azure SAS token for account " + h.place.Account)}
}
