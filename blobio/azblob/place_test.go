package azblob

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("AZURE_STORAGE_ACCOUNT", "envacct")
	for _, tc := range []struct{ raw, want, key string }{ // want empty: refused
		{"abfss://c@acct.dfs.core.windows.net/a/b", "abfss://c@acct.dfs.core.windows.net", "a/b"},
		{"abfs://c@acct.dfs.core.windows.net", "abfss://c@acct.dfs.core.windows.net", ""},
		{"wasbs://c@acct.blob.core.windows.net/a", "abfss://c@acct.dfs.core.windows.net", "a"},
		{"wasb://c@ACCT.blob.core.windows.net/A", "abfss://c@acct.dfs.core.windows.net", "A"},
		{"https://acct.blob.core.windows.net/c/a/b", "abfss://c@acct.dfs.core.windows.net", "a/b"},
		{"https://acct.dfs.core.windows.net/c", "abfss://c@acct.dfs.core.windows.net", ""},
		{"abfss://ws@onelake.dfs.fabric.microsoft.com/x", "abfss://ws@onelake.dfs.fabric.microsoft.com", "x"},
		{"abfss://c@acct.z07.dfs.storage.azure.net/x", "abfss://c@acct.z07.dfs.storage.azure.net", "x"},
		{"azblob://c/a/b", "abfss://c@envacct.dfs.core.windows.net", "a/b"},
		{"azblob://c/a?storage_account=other", "abfss://c@other.dfs.core.windows.net", "a"},
		{"az://c?storage_account=acct&domain=blob.core.chinacloudapi.cn", "abfss://c@acct.dfs.core.chinacloudapi.cn", ""},
		{"azblob://c/a?storage_account=acct&domain=127.0.0.1:10000&protocol=http", "abfss://c@acct.dfs.core.windows.net", "a"},
		{"az://c?storage_account=ACCT", "abfss://c@acct.dfs.core.windows.net", ""},
		{"az://c?storage_account=a/b", "", ""},
		{"abfss://c%2fd@acct.dfs.core.windows.net/a", "", ""},
		{"abfss://acct.dfs.core.windows.net/a", "", ""},
		{"abfss://c:" + secret + "@acct.dfs.core.windows.net/a", "", ""},
		{"abfss://c@acct.example.com/a", "", ""},
		{"https://user@acct.blob.core.windows.net/c/a", "", ""},
		{"https://acct.blob.core.windows.net", "", ""},
		{"s3://c/a", "", ""},
	} {
		u, err := url.Parse(tc.raw)
		if err != nil {
			t.Fatal(err)
		}
		place, key, err := parseURL(u)
		switch {
		case tc.want == "" && !errors.Is(err, errPlace):
			t.Errorf("%s: %v, want ErrPlace", tc.raw, err)
		case tc.want != "" && (err != nil || place.String() != tc.want || key != tc.key):
			t.Errorf("%s: %s, key %q, %v; want %s, key %q", tc.raw, place, key, err, tc.want, tc.key)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: the error repeats a secret", tc.raw)
		}
	}
}

// TestCredentialsGoToTheirAccountOnly: neither key nor signature of the environment's account is used for
// another one, and none is sent below a domain that is not Azure's.
func TestCredentialsGoToTheirAccountOnly(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING",
		"AccountName=mine;SharedAccessSignature=sv=1&sig=x;BlobEndpoint=http://127.0.0.1:1/mine")
	for _, tc := range []struct {
		place   Place
		opts    Options
		want    string // the URL of the container with its signature
		wantErr string
	}{
		{Place{"mine", "c", defaultDomain}, Options{}, "http://127.0.0.1:1/mine/c?sv=1&sig=x", ""},
		{Place{"other", "c", defaultDomain}, Options{Identity: "anonymous"}, "https://other.blob.core.windows.net/c", ""},
		{Place{"other", "c", defaultDomain}, Options{Identity: "sas"}, "", "no sas for account other"},
		{Place{"mine", "c", "evil.example"}, Options{Identity: "anonymous", Endpoint: "https://evil.example"}, "https://evil.example/c", ""},
		{Place{"thine", "c", "evil.example"}, Options{}, "", "not one of Azure's"},
	} {
		client, err := tc.opts.client(tc.place, &http.Transport{})
		if tc.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("%v: %v, want %q", tc.place, err, tc.wantErr)
			}
			continue
		}
		if err != nil || client.URL() != tc.want {
			t.Errorf("%v: %v, %v; want %s", tc.place, client.URL(), err, tc.want)
		}
	}
}

// FuzzParseURL: whatever is accepted has a canonical location that names the same place.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"abfss://c@acct.dfs.core.windows.net/a/b", "https://acct.blob.core.windows.net/c/a",
		"azblob://c/a?storage_account=acct&domain=blob.x", "wasb://c@a.blob.b", "abfss://@.dfs./"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		place, _, err := parseURL(u)
		if err != nil {
			return
		}
		again, err := url.Parse(place.String())
		if err != nil {
			t.Fatalf("%q: %v is not a URL", raw, place)
		}
		same, _, err := parseURL(again)
		if err != nil || same != place {
			t.Errorf("%q: %v, then %v (%v)", raw, place, same, err)
		}
	})
}
