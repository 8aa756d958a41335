package azblob

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/urlresolve"
)

// Place is a container in a storage account: what a bucket is elsewhere.
type Place struct {
	Account   string // also with a DNS zone: "account.z01"
	Container string
	Domain    string // below which accounts lie: "core.windows.net"
}

// DefaultDomain is that of the public cloud.
const DefaultDomain = "core.windows.net"

// names are what container, account and domain consist of. OneLake's containers are workspaces, with capitals.
var names = regexp.MustCompile(`^[A-Za-z0-9$_-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$`)

// ErrPlace says that a URL names no container of a storage account.
var ErrPlace = errors.New("not the location of an Azure blob")

// ParseURL reads the location in all its spellings and returns the container and the key inside it:
//
//	abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY    canonical; also abfs, wasb, wasbs, and .blob.
//	https://ACCOUNT.blob.core.windows.net/CONTAINER/KEY   also .dfs.
//	azblob://CONTAINER/KEY?storage_account=ACCOUNT        also az; the account may come from
//	                                                      AZURE_STORAGE_ACCOUNT
func ParseURL(u *url.URL) (Place, string, error) {
	var p Place
	key := strings.TrimPrefix(u.Path, "/")
	err := ErrPlace
	switch strings.ToLower(u.Scheme) {
	case "abfss", "abfs", "wasbs", "wasb":
		if _, secret := u.User.Password(); secret {
			return Place{}, "", fmt.Errorf("%w: it holds a password", ErrPlace)
		}
		p.Container = u.User.Username()
		p.Account, p.Domain, err = splitHost(u.Host)
	case "https", "http":
		if u.User != nil {
			return Place{}, "", fmt.Errorf("%w: it holds a user", ErrPlace)
		}
		p.Container, key, _ = strings.Cut(key, "/")
		p.Account, p.Domain, err = splitHost(u.Host)
	case "azblob", "az":
		p.Container, p.Account, p.Domain, err = u.Host, strings.ToLower(accountOf(u.Query())), DefaultDomain, nil
		if domain := u.Query().Get("domain"); domain != "" && !isLocal(domain) {
			p.Domain = strings.TrimPrefix(strings.ToLower(domain), "blob.")
		}
	}
	switch {
	case err != nil:
		return Place{}, "", err
	case p.Account == "":
		return Place{}, "", fmt.Errorf("%w: no storage account; name it with ?storage_account= or AZURE_STORAGE_ACCOUNT", ErrPlace)
	case p.Container == "":
		return Place{}, "", fmt.Errorf("%w: no container", ErrPlace)
	case !names.MatchString(p.Container + "@" + p.Account + "." + p.Domain):
		return Place{}, "", fmt.Errorf("%w: a name with characters that Azure does not allow", ErrPlace)
	}
	return p, key, nil
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

// splitHost takes "account.dfs.core.windows.net" apart.
func splitHost(host string) (account, domain string, err error) {
	host = strings.ToLower(host)
	for _, service := range []string{".dfs.", ".blob."} {
		if account, domain, ok := strings.Cut(host, service); ok && account != "" && domain != "" {
			return account, domain, nil
		}
	}
	return "", "", fmt.Errorf("%w: host is not ACCOUNT.dfs.DOMAIN", ErrPlace)
}

// String is the canonical location of the container, without a slash at its end.
func (p Place) String() string {
	return "abfss://" + p.Container + "@" + p.Account + ".dfs." + p.Domain
}

// endpoint is the URL of the account's blob service.
func (p Place) endpoint() string { return "https://" + p.Account + ".blob." + p.Domain }

// known says whether the domain is one of Microsoft's.
func (p Place) known() bool { return slices.Contains(urlresolve.AzureDomains, p.Domain) }
