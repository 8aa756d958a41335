package arrowhttp

import (
	"net/http"
	"testing"
)

// TestClientOf: clients are distinguished by their addresses without ports, and behind a proxy by what this one adds to what the client claims.
func TestClientOf(t *testing.T) {
	for _, test := range []struct {
		address   string
		forwarded []string
		want      string
	}{
		{"10.0.0.1:4711", nil, "10.0.0.1"},
		{"[::1]:4711", nil, "::1"},
		{"pipe", nil, "pipe"},
		{"10.0.0.1:4711", []string{"1.2.3.4"}, "10.0.0.1 1.2.3.4"},
		{"10.0.0.1:4711", []string{"6.6.6.6, 1.2.3.4"}, "10.0.0.1 1.2.3.4"},
		{"10.0.0.1:4711", []string{"6.6.6.6", "7.7.7.7,1.2.3.4 "}, "10.0.0.1 1.2.3.4"},
	} {
		if got := clientOf(&http.Request{RemoteAddr: test.address, Header: http.Header{"X-Forwarded-For": test.forwarded}}); got != test.want {
			t.Errorf("%s, forwarded for %q: %q, want %q", test.address, test.forwarded, got, test.want)
		}
	}
}
