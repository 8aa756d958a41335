package access

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// status is the outcome of a check as an HTTP status.
func status(err error) int {
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return refusal.Status
	}
	return http.StatusOK
}

func TestChecks(t *testing.T) {
	t.Parallel()
	open, reading, writing, both := Tokens{}, Tokens{Read: "r"}, Tokens{Write: "w"}, Tokens{Read: "r", Write: "w"}
	readCookie, _ := both.Login("r")
	writeCookie, _ := both.Login("w")
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	const here, there = "127.0.0.1:4000", "192.0.2.7:4000"
	for _, c := range []struct {
		tokens      Tokens
		peer, host  string
		header      http.Header
		read, write int
	}{
		{open, here, "localhost:8099", nil, 200, 403},
		{open, here, "LOCALHOST", nil, 200, 403},
		{open, "[::1]:4000", "[::1]:8099", nil, 200, 403},
		{open, here, "rebound.example", nil, 403, 403},
		{open, there, "localhost", nil, 403, 403},
		{open, there, "localhost", header("Authorization", "Bearer "), 403, 403},
		{writing, here, "localhost", nil, 200, 401},
		{writing, there, "shardcat.internal", nil, 403, 401},
		{writing, there, "shardcat.internal", header("Authorization", "Bearer w"), 200, 200},
		{reading, here, "localhost", nil, 401, 403},
		{reading, here, "localhost", header("Authorization", "Bearer r"), 200, 403},
		{both, here, "localhost", nil, 401, 401},
		{both, there, "x", header("Authorization", "bearer r"), 200, 401},
		{both, there, "x", header("Authorization", "Basic r"), 401, 401},
		{both, there, "x", header("Authorization", "Bearer rr"), 401, 401},
		{both, there, "x", header("Cookie", Cookie+"="+readCookie), 200, 401},
		{both, there, "x", header("Cookie", Cookie+"="+writeCookie), 200, 200},
		{both, there, "x", header("Cookie", Cookie+"=r"), 401, 401},
		{both, there, "x", header("Cookie", Cookie+"="+writeCookie, "Sec-Fetch-Site", "same-origin"), 200, 200},
		{both, there, "x", header("Cookie", Cookie+"="+writeCookie, "Sec-Fetch-Site", "same-site"), 403, 403},
		{both, there, "x", header("Cookie", Cookie+"="+writeCookie, "Sec-Fetch-Site", "cross-site"), 403, 403},
		{both, there, "x", header("Authorization", "Bearer w", "Sec-Fetch-Site", "cross-site"), 200, 200},
		{open, here, "localhost", header("Sec-Fetch-Site", "none"), 200, 403},
		{open, here, "localhost", header("Sec-Fetch-Site", "same-origin"), 200, 403},
		{open, here, "localhost", header("Sec-Fetch-Site", "same-site"), 403, 403},
		{open, here, "localhost", header("Sec-Fetch-Site", "cross-site"), 403, 403},
		{open, here, "localhost", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), 403, 403},
		{open, here, "localhost", header("Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"), 403, 403},
		{open, here, "localhost", header("X-Forwarded-For", "192.0.2.7"), 403, 403},
		{open, here, "localhost", header("X-Forwarded-For", "", "X-Forwarded-For", "192.0.2.7"), 403, 403},
		{open, here, "localhost", header("X-Forwarded-For", ""), 403, 403},
		{open, here, "localhost", header("X-Forwarded-Host", "shardcat.example"), 403, 403},
		{open, here, "localhost", header("X-Forwarded-Proto", "https"), 403, 403},
		{open, here, "localhost", header("Forwarded", "for=192.0.2.7"), 403, 403},
		{open, here, "localhost", header("Via", "1.1 proxy"), 403, 403},
		{open, here, "localhost", header("Via", ""), 403, 403},
		{open, here, "localhost", header("x-real-ip", "192.0.2.7"), 403, 403},
		{open, here, "localhost", header("True-Client-IP", "192.0.2.7"), 403, 403},
		{open, here, "localhost", header("CF-Connecting-IP", "192.0.2.7"), 403, 403},
		{both, here, "localhost", header("Via", "1.1 proxy", "Authorization", "Bearer r"), 200, 401},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/tables", nil)
		r.RemoteAddr, r.Host = c.peer, c.host
		if c.header != nil {
			r.Header = c.header
		}
		if got := status(c.tokens.MayRead(r)); got != c.read {
			t.Errorf("%+v from %s to %s with %v: reading gives %d, want %d", c.tokens, c.peer, c.host, c.header, got, c.read)
		}
		if got := status(c.tokens.MayWrite(r)); got != c.write {
			t.Errorf("%+v from %s to %s with %v: writing gives %d, want %d", c.tokens, c.peer, c.host, c.header, got, c.write)
		}
	}
	for _, tokens := range []Tokens{open, reading, writing} {
		if _, ok := tokens.Login(""); ok {
			t.Errorf("%+v: an empty token logs in", tokens)
		}
	}
}
