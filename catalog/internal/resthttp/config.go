package resthttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
)

// errTransient is the class of a network fault that may pass.
var errTransient = blobio.ErrTransient

// ownSettings decide where credentials go and which are used. They are the client's alone: what a server's
// configuration states about them is dropped.
var ownSettings = []string{
	"token", "credential", "oauth2-server-uri", "rest.authorization-url", "scope", "audience", "resource",
	"rest.sigv4-enabled", "rest.tls.skip-verify", "header.authorization", "header.host",
}

// signingSettings hold where the client signs its requests.
var signingSettings = []string{"rest.signing-region", "rest.signing-name"}

// checkConfig takes out of a server's configuration what would send requests or credentials elsewhere. A "uri" at another
// host is an error: the server means requests to go there, and only the user can report that they may.
func (t *Transport) checkConfig(resp *http.Response) error {
	text := peek(resp)
	var config map[string]json.RawMessage
	if json.Unmarshal(text, &config) != nil {
		return nil // the caller's error
	}
	for _, layer := range []string{"defaults", "overrides"} {
		var settings map[string]*string
		if json.Unmarshal(config[layer], &settings) != nil || settings == nil {
			continue
		}
		for name, value := range settings {
			lower := strings.ToLower(name)
			if slices.Contains(ownSettings, lower) || !t.Signed && slices.Contains(signingSettings, lower) {
				delete(settings, name)
			}
			if name != "uri" || value == nil {
				continue
			}
			at, err := url.Parse(*value)
			if err != nil || at.User != nil || !t.sameHost(at) {
				return fmt.Errorf("the server's configuration redirects requests to %s: %w; if that host is trusted, use --catalog rest+%s",
					redacted(*value), ErrOtherHost, redacted(*value))
			}
		}
		encoded, err := json.Marshal(settings)
		if err != nil {
			return err
		}
		config[layer] = encoded
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// redacted is a URL without user, query and fragment.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an invalid URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// sameHost reports whether a URL lies at the catalog's host. From http to https of the same name is no other host.
func (t *Transport) sameHost(u *url.URL) bool {
	if !strings.EqualFold(u.Hostname(), t.Catalog.Hostname()) {
		return false
	}
	upgraded := t.Catalog.Scheme == "http" && u.Scheme == "https" && port(t.Catalog) == "80" && port(u) == "443"
	return upgraded || u.Scheme == t.Catalog.Scheme && port(u) == port(t.Catalog)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
