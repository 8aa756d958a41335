package restsettings

import (
	"fmt"
	"strings"
	"testing"
)

// TestSigningPlace: AWS's own endpoints are signed for without settings, and settings win.
func TestSigningPlace(t *testing.T) {
	for uri, want := range map[string]string{
		"https://glue.eu-west-1.amazonaws.com/iceberg": "true eu-west-1 glue", "https://s3tables.us-east-1.amazonaws.com/iceberg": "true us-east-1 s3tables",
		"https://glue.cn-north-1.amazonaws.com.cn/iceberg": "true cn-north-1 glue", "https://glue-fips.us-east-1.api.aws/iceberg": "true us-east-1 glue",
		"https://glue.eu-west-1.amazonaws.com.evil.com/": "false  ", "https://catalog.example": "false  ",
		"https://s3tables.us-east-1.amazonaws.com/iceberg?rest.signing-region=us-east-2": "true us-east-2 s3tables",
		"https://glue.eu-west-1.amazonaws.com/iceberg?rest.sigv4-enabled=false":          "false eu-west-1 glue",
	} {
		base, query, _ := strings.Cut(uri, "?")
		settings, err := Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := settings.Transport(base)
		if err != nil {
			t.Fatal(err)
		}
		region, service := settings.SigningPlace(tr.Catalog)
		if got := fmt.Sprint(tr.Signed, " ", region, " ", service); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}
