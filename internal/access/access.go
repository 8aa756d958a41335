// Package access decides who may read tables and who may change them over HTTP. Rows, bounds, plans and pages all go
// through this one check.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Tokens are the secrets of a server. Without a read token, requests from this machine may read and all others are
// refused; without a write token, nobody changes anything. The write token reads too.
type Tokens struct{ Read, Write string }

// Refusal is why a request is not served, with the status of the response.
type Refusal struct {
	Status int
	Detail string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Detail }

// Cookie is the name of the cookie that a login sets. Its value is a hash of the token, so that the files of a browser
// do not contain the token.
const Cookie = "shardcat"

// MayRead returns nil for requests that may see what tables contain: rows, bounds, plans, names and pages.
func (t Tokens) MayRead(r *http.Request) error {
	switch {
	case CrossSite(r):
		return refusedCrossSite
	case holds(r, t.Read), holds(r, t.Write):
		return nil
	case t.Read != "":
		return &Refusal{http.StatusUnauthorized, "missing or wrong token for reading: send Authorization: Bearer with the value of SHARDCAT_READ_TOKEN, or log in at /login"}
	case !fromHere(r):
		return &Refusal{http.StatusForbidden, "the server has no token for reading, so only programs on its own machine read: set SHARDCAT_READ_TOKEN where it runs, or use the token of SHARDCAT_SERVE_TOKEN"}
	}
	return nil
}

// MayWrite returns nil for requests that may change tables.
func (t Tokens) MayWrite(r *http.Request) error {
	switch {
	case t.Write == "":
		return &Refusal{http.StatusForbidden, "the server has no token for changes: set SHARDCAT_SERVE_TOKEN where it runs"}
	case CrossSite(r):
		return refusedCrossSite
	case !holds(r, t.Write):
		return &Refusal{http.StatusUnauthorized, "missing or wrong token for changes: send Authorization: Bearer with the value of SHARDCAT_SERVE_TOKEN"}
	}
	return nil
}

// Login returns the value of the cookie for a token, and whether it is one of the server's.
func (t Tokens) Login(token string) (value string, ok bool) {
	value = hashed(token)
	read, write := t.Read != "" && same(value, hashed(t.Read)), t.Write != "" && same(value, hashed(t.Write))
	return value, read || write
}

var refusedCrossSite = &Refusal{http.StatusForbidden, "request from a page of another site (Sec-Fetch-Site): open the address in the browser itself"}

// CrossSite reports whether a browser sent a request for a page of another origin. Another port of the same host is
// another origin: any user of the machine may serve it. A bearer token makes the request the page's own decision;
// browsers send none across origins without a preflight, which this server does not answer.
func CrossSite(r *http.Request) bool {
	if bearer(r) != "" {
		return false
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	return false
}

func bearer(r *http.Request) string {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(given)
}

// holds reports whether a request has a token, as a bearer or as the cookie of a login.
func holds(r *http.Request, token string) bool {
	if token == "" {
		return false
	}
	if given := bearer(r); given != "" {
		return same(hashed(given), hashed(token))
	}
	c, err := r.Cookie(Cookie)
	return err == nil && same(c.Value, hashed(token))
}

func hashed(token string) string {
	sum := sha256.Sum256([]byte("shardcat console\x00" + token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// same compares in a time that depends on lengths only.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// proxied are the headers by which proxies name themselves or the client, beside X-Forwarded-*.
var proxied = []string{
	"forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-original-forwarded-for", "x-original-host",
	"x-envoy-external-address", "true-client-ip", "cf-connecting-ip", "cf-ray", "fastly-client-ip", "x-appengine-user-ip",
	"x-azure-clientip", "x-proxyuser-ip", "client-ip", "proxy-connection",
}

// ProxyHeader reports whether a header reports that a proxy passed the request on. Its presence counts, whatever the
// value: a client can make the first of several values empty.
func ProxyHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "x-forwarded") || slices.Contains(proxied, name)
}

// fromHere reports whether a request comes from this machine, without a proxy, to a name of this machine: a page whose
// host name was rebound to 127.0.0.1 still has that name in Host, and a proxied request comes from elsewhere.
func fromHere(r *http.Request) bool {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !loopback(peer) {
		return false
	}
	for name := range r.Header {
		if ProxyHeader(name) {
			return false
		}
	}
	return LocalName(r.Host)
}

// LocalName reports whether a Host is localhost or a loopback address, with or without a port.
func LocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return strings.EqualFold(host, "localhost") || loopback(host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
