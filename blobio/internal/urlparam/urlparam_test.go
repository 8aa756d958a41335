package urlparam

import (
	"net/url"
	"strings"
	"testing"
)

type options struct {
	name  string
	loud  bool
	size  int
	shape string
}

var set = Set[options]{Kind: "test", Secrets: []string{"key"}, Params: map[string]Param[options]{
	"name":  Text(func(o *options) *string { return &o.name }),
	"loud":  Bool(func(o *options) *bool { return &o.loud }),
	"size":  Int(func(o *options) *int { return &o.size }, 2, 5),
	"shape": OneOf(func(o *options) *string { return &o.shape }, []string{"Round", "Square"}),
}}

func TestParse(t *testing.T) {
	for query, want := range map[string]string{ // what the error states; empty: none
		"name=a&loud=true&size=5&shape=round": "",
		"loud=perhaps":                        "parameter loud",
		"size=1":                              "outside 2 to 5",
		"size=6":                              "outside 2 to 5",
		"size=many":                           "parameter size",
		"shape=flat":                          "not one of [Round Square]",
		"name=a&name=b":                       `"name" is given 2 times`,
		"nmae=a":                              `"nmae" is not known to test URLs`,
		"Key=S3CRET":                          "environment",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		o, err := set.Parse(q)
		switch {
		case want == "":
			if err != nil || o != (options{"a", true, 5, "Round"}) {
				t.Errorf("%s: %+v, %v", query, o, err)
			}
		case err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3CRET"):
			t.Errorf("%s: %v, want %q and no secret", query, err, want)
		}
	}
}

func TestCheckEndpoint(t *testing.T) {
	for endpoint, fine := range map[string]bool{"": true, "http://h:1": true, "https://h/p": true, "h:1": false,
		"ftp://h": false, "http://u:p@h": false, "http://h?q": false} {
		if err := CheckEndpoint(endpoint); (err == nil) != fine {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "localhost:1": true, "127.0.0.1:9": true, "[::1]:9": true,
		"::1": true, "[::1]": true, "store.example": false, "store.example:1": false} {
		if got := IsLocal(host); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}
