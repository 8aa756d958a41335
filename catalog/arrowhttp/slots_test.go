package arrowhttp

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestClientOf: a client is its address without the port, and behind a trusted proxy the address that it adds to what the
// client claims. What others claim does not count.
func TestClientOf(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::1/128")}
	for _, test := range []struct {
		address   string
		forwarded []string
		want      string
	}{
		{"10.0.0.1:4711", nil, "10.0.0.1"},
		{"[::1]:4711", nil, "::1"},
		{"pipe", []string{"1.2.3.4"}, "pipe"},
		{"10.0.0.1:4711", []string{"1.2.3.4"}, "1.2.3.4"},
		{"[::ffff:10.0.0.1]:4711", []string{"1.2.3.4"}, "1.2.3.4"},
		{"[fd00::1]:4711", []string{"1.2.3.4"}, "1.2.3.4"},
		{"10.0.0.1:4711", []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"10.0.0.1:4711", []string{"6.6.6.6", "7.7.7.7,1.2.3.4 "}, "1.2.3.4"},
		{"10.0.1.1:4711", []string{"1.2.3.4"}, "10.0.1.1"},
		{"[fd00::2]:4711", []string{"1.2.3.4"}, "fd00::2"},
	} {
		r := &http.Request{RemoteAddr: test.address, Header: http.Header{"X-Forwarded-For": test.forwarded}}
		if got := clientOf(r, proxies); got != test.want {
			t.Errorf("%s, forwarded for %q: %q, want %q", test.address, test.forwarded, got, test.want)
		}
		if got, own := clientOf(r, nil), clientOf(&http.Request{RemoteAddr: test.address}, proxies); got != own {
			t.Errorf("%s, forwarded for %q by no trusted proxy: %q, want %q", test.address, test.forwarded, got, own)
		}
	}
}
