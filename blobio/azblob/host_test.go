package azblob

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// errSeen ends a request that a test has seen. The SDK tries no second one.
type errSeen struct{}

func (errSeen) Error() string { return "seen" }
func (errSeen) NonRetriable() {}

// watchRequests lets no request of a test leave the machine, and gives where the last one would have gone.
func watchRequests(t *testing.T) *url.URL {
	clearEnvironment(t)
	asked := new(url.URL)
	transport := http.DefaultTransport.(*http.Transport)
	before := transport.Proxy
	t.Cleanup(func() { transport.Proxy = before })
	transport.Proxy = func(r *http.Request) (*url.URL, error) {
		*asked = *r.URL
		return nil, errSeen{}
	}
	return asked
}

// TestTokensComeFromTheirCloud: an account of a sovereign cloud gets a token of that cloud, if the environment
// does not state otherwise.
func TestTokensComeFromTheirCloud(t *testing.T) {
	asked := watchRequests(t)
	t.Setenv("AZURE_TENANT_ID", "tenant")
	t.Setenv("AZURE_CLIENT_ID", "client")
	t.Setenv("AZURE_CLIENT_SECRET", secret)
	for _, tc := range []struct{ domain, said, want string }{
		{"dfs.core.windows.net", "", "login.microsoftonline.com"},
		{"dfs.core.chinacloudapi.cn", "", "login.chinacloudapi.cn"},
		{"dfs.core.usgovcloudapi.net", "", "login.microsoftonline.us"},
		{"dfs.core.chinacloudapi.cn", "https://login.microsoftonline.us", "login.microsoftonline.us"},
	} {
		t.Setenv("AZURE_AUTHORITY_HOST", tc.said)
		b := blobfake.OpenURL[*bucket](t, OpenURL, "abfss://c@acct."+tc.domain+"?credential=environment")
		_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
		if err == nil || asked.Host != tc.want {
			t.Errorf("%s: asked %s for a token, want %s (%v)", tc.domain, asked.Host, tc.want, err)
		}
	}
}

// TestRequestsGoToTheirHost: each spelling that is mounted ends in a request to the host and container that it
// names: the public cloud, DNS zones, sovereign clouds, OneLake, and where gocloud's parameters lead.
func TestRequestsGoToTheirHost(t *testing.T) {
	asked := watchRequests(t)
	for raw, want := range map[string]string{
		"abfss://c@acct.dfs.core.windows.net/":                                        "https://acct.blob.core.windows.net/c/k",
		"https://acct.blob.core.windows.net/c/":                                       "https://acct.blob.core.windows.net/c/k",
		"wasbs://c@acct.blob.core.windows.net/":                                       "https://acct.blob.core.windows.net/c/k",
		"abfss://c@acct.z07.dfs.storage.azure.net/":                                   "https://acct.z07.blob.storage.azure.net/c/k",
		"https://acct.z12.blob.storage.azure.net/c/":                                  "https://acct.z12.blob.storage.azure.net/c/k",
		"abfss://c@acct.dfs.core.chinacloudapi.cn/":                                   "https://acct.blob.core.chinacloudapi.cn/c/k",
		"abfss://c@acct.dfs.core.usgovcloudapi.net/":                                  "https://acct.blob.core.usgovcloudapi.net/c/k",
		"abfss://My-Workspace@onelake.dfs.fabric.microsoft.com/lake.Lakehouse/Files/": "https://onelake.blob.fabric.microsoft.com/My-Workspace/lake.Lakehouse/Files/k",
		"abfss://ws@westeurope-onelake.dfs.fabric.microsoft.com/i/":                   "https://westeurope-onelake.blob.fabric.microsoft.com/ws/i/k",
		"azblob://c/?storage_account=acct":                                            "https://acct.blob.core.windows.net/c/k",
		"azblob://c/?storage_account=acct&domain=blob.core.usgovcloudapi.net":         "https://acct.blob.core.usgovcloudapi.net/c/k",
		"azblob://c/?storage_account=acct&protocol=http":                              "http://acct.blob.core.windows.net/c/k",
		"azblob://c/?storage_account=acct&domain=cdn.example&cdn=true":                "https://cdn.example/c/k",
		"azblob://c/?storage_account=acct&domain=localhost:10001&protocol=http":       "http://localhost:10001/acct/c/k",
		"azblob://c/?storage_account=acct&domain=emulator.test&localemu=true":         "https://emulator.test/acct/c/k",
		"abfss://c@acct.dfs.core.windows.net/?endpoint=https://private.example":       "https://private.example/c/k",
	} {
		t.Run(raw, func(t *testing.T) {
			client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 1}})
			defer client.Close()
			sign := "?"
			if u, err := url.Parse(raw); err == nil && u.RawQuery != "" {
				sign = "&"
			}
			root, err := client.Mount(t.Context(), raw+sign+"anonymous=true")
			if err != nil {
				t.Fatal(err)
			}
			*asked = url.URL{}
			if _, err := client.Stat(t.Context(), root+"k"); err == nil || asked.Host == "" {
				t.Fatalf("%v: no request was made", err)
			}
			if got := asked.Scheme + "://" + asked.Host + asked.Path; got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
		})
	}
}
