package arrowhttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// mayRead lets the holders of a token read, and this machine where none is asked for.
func (s *Server) mayRead(r *http.Request) error {
	switch {
	case holds(r, s.o.ReadToken), holds(r, s.o.WriteToken):
		return nil
	case s.o.ReadToken != "":
		return unauthorized("reading needs the token: send it as Authorization: Bearer")
	case !fromHere(r):
		return &problem{Status: http.StatusForbidden, Code: "unsafe", Detail: "without a token for reading, only this machine reads: set SHARDCAT_READ_TOKEN where the server runs"}
	}
	return nil
}

// mayWrite lets the holders of the token for changes append.
func (s *Server) mayWrite(r *http.Request) error {
	switch {
	case s.o.WriteToken == "":
		return &problem{Status: http.StatusForbidden, Code: "unsafe", Detail: "this server appends nothing: set SHARDCAT_SERVE_TOKEN where it runs"}
	case !holds(r, s.o.WriteToken):
		return unauthorized("appending needs the token of SHARDCAT_SERVE_TOKEN: send it as Authorization: Bearer")
	}
	return nil
}

func unauthorized(detail string) *problem {
	return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Detail: detail}
}

// holds reports whether a request has a token. The time it takes tells nothing of how much of it was right: what is
// compared are sums of one length.
func holds(r *http.Request, token string) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(strings.TrimSpace(given)))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// fromHere reports whether a request comes from this machine and means it: a page of another site whose name was made to
// stand for 127.0.0.1 still has that name in Host, and what comes through a proxy has come from elsewhere.
func fromHere(r *http.Request) bool {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !loopback(peer) || r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return host == "localhost" || loopback(host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
