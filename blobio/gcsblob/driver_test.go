package gcsblob

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

const secret = "ya29.c2VjcmV0"

// stub opens a bucket on a server that answers as the handler does.
func stub(t *testing.T, handler http.HandlerFunc, params string) *bucket {
	t.Helper()
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	return blobfake.OpenURL[*bucket](t, OpenURL, "gs://b?endpoint="+blobfake.Serve(t, handler)+params)
}

// refuse answers every request with a status and an error document.
func refuse(status int, reason string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if reason != "" {
			fmt.Fprintf(w, `{"error":{"code":%d,"message":"as the\nstore says","errors":[{"reason":%q}]}}`, status, reason)
		}
	}
}

func TestDriver(t *testing.T) {
	blobfake.RunDriver(t, blobfake.Driver{
		Open:      OpenURL,
		Parse:     func(q url.Values) error { _, err := ParseOptions(q); return err },
		KeepsIdle: true, // Google's transports hide those below
		Stub:      func(t *testing.T, handler http.HandlerFunc) blobio.Bucket { return stub(t, handler, "") },
		Refuse:    refuse,
		Secret:    secret,
		Denied:    "forbidden",
		State: func(w http.ResponseWriter, r *http.Request, size int) bool {
			w.Header().Set("X-Goog-Generation", "7")
			if r.URL.Query().Get("alt") == "media" {
				return false
			}
			fmt.Fprintf(w, `{"name":"k","bucket":"b","generation":"7","size":"%d","crc32c":"AAAAAQ=="}`, size)
			return true
		},

		Unresolvable: "gs://b?anonymous=true&endpoint=http://no-such-store.invalid",
		Refusals: map[string]error{
			"404 notFound":                     blobio.ErrNotFound,
			"403 forbidden":                    blobio.ErrDenied,
			"403 insufficientPermissions":      blobio.ErrDenied,
			"401 authError":                    blobio.ErrDenied,
			"403 rateLimitExceeded":            blobio.ErrThrottled,
			"403 userRateLimitExceeded":        blobio.ErrThrottled,
			"429 rateLimitExceeded":            blobio.ErrThrottled,
			"429":                              blobio.ErrThrottled,
			"503 backendError":                 blobio.ErrThrottled,
			"503":                              blobio.ErrThrottled,
			"412 conditionNotMet":              blobio.ErrExists,
			"409 conflict":                     blobio.ErrConflict,
			"416 requestedRangeNotSatisfiable": blobio.ErrRange,
			"500 internalError":                blobio.ErrTransient,
			"502":                              blobio.ErrTransient,
			"408 uploadBrokenConnection":       blobio.ErrTransient,
			"400 invalid":                      blobio.ErrUnknown,
		},
		Mounts: map[string]string{
			"gs://b/p/q?endpoint=http://127.0.0.1:9": "gs://b/p/q",
			"gcs://b/p?anonymous=true":               "gs://b/p",
			"gcs://b?anonymous=true":                 "gs://b/",
		},
		Forbidden: []string{"gs://me:" + secret + "@b/p", "gs://b/p?access_token=" + secret},
		Params: map[string]string{
			"": "",
			"endpoint=http://127.0.0.1:4443&anonymous=true":                                      "",
			"impersonate=a@b.iam.gserviceaccount.com&user_project=p":                             "",
			"storage_class=NEARLINE&kms_key_name=projects/p/locations/l/keyRings/r/cryptoKeys/k": "",
			"part_size=524288&list_page=10":                                                      "",
			"part_size=300000":                                                                   "multiple",
			"part_size=1000":                                                                     "part_size",
			"list_page=1001":                                                                     "list_page",
			"list_page=ten":                                                                      "list_page",
			"anonymous=true&impersonate=a":                                                       "exclude",
			"endpoint=localhost:1":                                                               "endpoint",
			"endpoint=http://u:" + secret + "@h":                                                 "endpoint",
			"access_id=-":                                                                        "",
			"access_id=-&impersonate=a":                                                          "exclude",
			"universe_domain=cloud.example":                                                      "",
			"project=p":                                                                          "not known",
			"user_project=a&user_project=b":                                                      "2 times",
			"access_token=" + secret:                                                             "environment",
		},
	})
}

func TestSizeIsNeverMadeUp(t *testing.T) {
	blobfake.SizesAreNeverMadeUp(t, []string{"", "chunked-get"}, func(t *testing.T, quirks string, body []byte) (blobio.Bucket, string) {
		s := blobfake.NewS3(t, quirks)
		s.Put("k", body)
		return stub(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Goog-Generation", "7")
			if r.URL.Query().Get("alt") != "media" {
				fmt.Fprintf(w, `{"name":"k","bucket":"b","generation":"7","size":"%d","crc32c":"AAAAAQ=="}`, len(body))
				return
			}
			r.URL.Path, r.URL.RawQuery = "/b/k", ""
			s.ServeHTTP(w, r)
		}, ""), "k"
	})
}

// TestConformance runs the suite of all stores on a real server.
func TestConformance(t *testing.T) {
	blobfake.RunServer(t, "SHARDCAT_TEST_GCS", "&list_page=15&part_size=2097152", OpenURL, blobtest.Store{
		IgnoresDeletePins: "fake-gcs-server does not look at ifGenerationMatch of a delete"})
}
