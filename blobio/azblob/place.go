package azblob

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/shardcat/shardcat/blobio/internal/urlparam"
	"github.com/shardcat/shardcat/urlresolve"
)

// Place is a container in a storage account: what a bucket is elsewhere.
type Place struct {
	Account   string // also with a DNS zone: "account.z01"
	Container string
	Domain    string // below which accounts lie: "core.windows.net"
}

// defaultDomain is that of the public cloud.
const defaultDomain = "core.windows.net"

// errPlace means that a URL names no container of a storage account.
var errPlace = errors.New("not the location of an Azure blob")

// parseURL reads the location in all its spellings and returns the container and the key inside it:
//
//	abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY    canonical; also abfs, wasb, wasbs, and .blob.
//	https://ACCOUNT.blob.core.windows.net/CONTAINER/KEY   also .dfs.
//	azblob://CONTAINER/KEY?storage_account=ACCOUNT        also az; the account may come from
//	                                                      AZURE_STORAGE_ACCOUNT
//
// The names of accounts, domains and containers are checked by package urlresolve alone.
func parseURL(u *url.URL) (Place, string, error) {
	plain := *u
	plain.RawQuery, plain.ForceQuery = "", false
	if u.Scheme == "azblob" || u.Scheme == "az" {
		account := accountOf(u.Query())
		if account == "" {
			return Place{}, "", fmt.Errorf("%w: no storage account; name it with ?storage_account= or AZURE_STORAGE_ACCOUNT", errPlace)
		}
		plain.Scheme, plain.User = "abfss", url.User(u.Host)
		plain.Host = strings.ToLower(account) + ".dfs." + domainOf(u.Query())
	}
	plain.Host = strings.ToLower(plain.Host)
	if path := plain.EscapedPath(); path == "" || plain.User == nil && strings.Count(path, "/") == 1 { // the container alone
		plain = *plain.JoinPath("/")
	}
	at, err := urlresolve.Parse(plain.String())
	var refused *urlresolve.Error
	switch {
	case errors.As(err, &refused): // its text repeats the URL
		return Place{}, "", fmt.Errorf("%w: %s", errPlace, refused.Reason)
	case err != nil:
		return Place{}, "", err
	}
	container, host, _ := strings.Cut(at.Bucket, "@")
	account, domain, ok := strings.Cut(host, ".dfs.")
	if at.Scheme != "abfss" || !ok {
		return Place{}, "", errPlace
	}
	return Place{Account: account, Container: container, Domain: domain}, at.Key(), nil
}

// domainOf is the domain that the parameters name, where accounts lie below it.
func domainOf(q url.Values) string {
	domain := strings.TrimPrefix(strings.ToLower(q.Get("domain")), "blob.")
	if domain == "" || urlparam.IsLocal(domain) || q.Has("cdn") || q.Has("localemu") {
		return defaultDomain
	}
	return domain
}

// accountOf is the account that the parameters or else the environment name.
func accountOf(q url.Values) string {
	if account := q.Get("storage_account"); account != "" {
		return account
	}
	if account := os.Getenv("AZURE_STORAGE_ACCOUNT"); account != "" {
		return account
	}
	return environment().account
}

// String is the canonical location of the container, without a slash at its end.
func (p Place) String() string {
	return "abfss://" + p.Container + "@" + p.Account + ".dfs." + p.Domain
}

// known reports whether the domain is one of Microsoft's.
func (p Place) known() bool { return urlresolve.IsAzureDomain(p.Domain) }
