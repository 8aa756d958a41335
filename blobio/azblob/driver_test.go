package azblob

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// secret is a shared key, and the signature of a SAS.
const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ="

// clearEnvironment hides the machine's own Azure settings from a test.
func clearEnvironment(t *testing.T) {
	for _, name := range []string{"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
		"AZURE_STORAGE_CONNECTION_STRING"} {
		t.Setenv(name, "")
	}
}

// stub opens a container on a server that answers as the handler does.
func stub(t *testing.T, handler http.HandlerFunc, params string) *bucket {
	t.Helper()
	clearEnvironment(t)
	t.Setenv("AZURE_STORAGE_ACCOUNT", "acct")
	t.Setenv("AZURE_STORAGE_KEY", secret)
	return blobfake.OpenURL[*bucket](t, OpenURL, "abfss://c@acct.dfs.core.windows.net?endpoint="+blobfake.Serve(t, handler)+params)
}

// refuse answers every request with a status and an error document.
func refuse(status int, code string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("X-Ms-Request-Id", "REQ1")
		if code != "" {
			w.Header().Set("X-Ms-Error-Code", code)
			w.Header().Set("Content-Type", "application/xml")
		}
		w.WriteHeader(status)
		if code != "" {
			fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>as the store says\nsigned: %s</Message></Error>", code, secret)
		}
	}
}

func TestDriver(t *testing.T) {
	blobfake.RunDriver(t, blobfake.Driver{
		Open:   OpenURL,
		Parse:  func(q url.Values) error { _, err := ParseOptions(q); return err },
		Stub:   func(t *testing.T, handler http.HandlerFunc) blobio.Bucket { return stub(t, handler, "") },
		Refuse: refuse,
		Secret: secret,
		Denied: "AuthorizationFailure",
		State: func(w http.ResponseWriter, r *http.Request, size int) bool {
			w.Header().Set("ETag", `"0x1"`)
			w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
			if r.Method == http.MethodHead {
				w.Header().Set("Content-Length", strconv.Itoa(size))
			}
			return r.Method == http.MethodHead
		},

		Unresolvable: "abfss://c@acct.dfs.core.windows.net?endpoint=http://no-such-store.invalid/acct",
		Refusals: map[string]error{
			"404 BlobNotFound":                    blobio.ErrNotFound,
			"404 ContainerNotFound":               blobio.ErrNotFound,
			"403 AuthenticationFailed":            blobio.ErrDenied,
			"403 AuthorizationPermissionMismatch": blobio.ErrDenied,
			"401 NoAuthenticationInformation":     blobio.ErrDenied,
			"409 PublicAccessNotPermitted":        blobio.ErrDenied,
			"409 BlobImmutableDueToPolicy":        blobio.ErrDenied,
			"503 ServerBusy":                      blobio.ErrThrottled,
			"503":                                 blobio.ErrThrottled,
			"429":                                 blobio.ErrThrottled,
			"412 ConditionNotMet":                 blobio.ErrExists,
			"409 BlobAlreadyExists":               blobio.ErrExists,
			"403 UnauthorizedBlobOverwrite":       blobio.ErrExists,
			"409 ContainerBeingDeleted":           blobio.ErrConflict,
			"416 InvalidRange":                    blobio.ErrRange,
			"500 InternalError":                   blobio.ErrTransient,
			"500 OperationTimedOut":               blobio.ErrTransient,
			"502":                                 blobio.ErrTransient,
			"400 InvalidHeaderValue":              blobio.ErrUnknown,
		},
		Mounts: map[string]string{
			"abfss://cont@acct.dfs.core.windows.net/p?anonymous=true":       "abfss://cont@acct.dfs.core.windows.net/p",
			"abfs://cont@acct.dfs.core.windows.net/p?anonymous=true":        "abfss://cont@acct.dfs.core.windows.net/p",
			"wasbs://cont@acct.blob.core.windows.net/p?anonymous=true":      "abfss://cont@acct.dfs.core.windows.net/p",
			"https://acct.blob.core.windows.net/cont/p?anonymous=true":      "abfss://cont@acct.dfs.core.windows.net/p",
			"azblob://cont/p?storage_account=acct&anonymous=true":           "abfss://cont@acct.dfs.core.windows.net/p",
			"az://cont?storage_account=acct&anonymous=true":                 "abfss://cont@acct.dfs.core.windows.net/",
			"abfss://ws@onelake.dfs.fabric.microsoft.com/f?anonymous=true":  "abfss://ws@onelake.dfs.fabric.microsoft.com/f",
			"https://acct.z01.blob.storage.azure.net/cont/p?anonymous=true": "abfss://cont@acct.z01.dfs.storage.azure.net/p",
			"abfss://cont@acct.dfs.core.windows.net?credential=default":     "abfss://cont@acct.dfs.core.windows.net/",
		},
		Forbidden: []string{"https://acct.blob.core.windows.net/cont/p?sv=1&sig=" + secret},
		Params: map[string]string{
			"": "",
			"storage_account=a&domain=core.windows.net&protocol=https":                            "",
			"credential=managed_identity&client_id=x":                                             "",
			"anonymous=true&access_tier=cool&encryption_scope=s&part_size=1048576&list_page=5000": "",
			"endpoint=http://127.0.0.1:10000/acct":                                                "",
			"credential=password":                                                                 "not one of",
			"access_tier=lukewarm":                                                                "access_tier",
			"part_size=0":                                                                         "part_size",
			"list_page=5001":                                                                      "list_page",
			"endpoint=127.0.0.1":                                                                  "endpoint",
			"endpoint=https://x/?sig=" + secret:                                                   "endpoint",
			"colour=blue":                                                                         "not known",
			"credential=cli&credential=key":                                                       "2 times",
			"sig=" + secret:                                                                       "environment",
			"sv=2024":                                                                             "environment",
			"account_key=" + secret:                                                               "environment",
		},
	})
}

// TestConformance runs the suite of all stores on a real server.
func TestConformance(t *testing.T) {
	blobfake.RunServer(t, "SHARDCAT_TEST_AZURE", "&list_page=15&part_size=1048576", OpenURL, blobtest.Store{Parts: 3 << 20})
}
