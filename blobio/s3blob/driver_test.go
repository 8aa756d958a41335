package s3blob

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

const secret = "wJalrXUtnFEMIK7MDENGbPxRfiCY"

// stub opens a bucket on a server that answers as the handler does.
func stub(t *testing.T, handler http.HandlerFunc, params string) *bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	return blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?endpoint="+blobfake.Serve(t, handler)+params)
}

// refuse answers every request with a status and an error document.
func refuse(status int, code string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("X-Amz-Request-Id", "REQ1")
		w.WriteHeader(status)
		if code != "" {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the\nstore says</Message></Error>", code)
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
		Denied: "AccessDenied",
		State: func(w http.ResponseWriter, r *http.Request, size int) bool {
			w.Header().Set("ETag", `"e"`)
			if r.Method == http.MethodHead {
				w.Header().Set("Content-Length", strconv.Itoa(size))
			}
			return r.Method == http.MethodHead
		},

		Unresolvable: "s3://b?endpoint=http://no-such-store.invalid",
		Refusals: map[string]error{
			"404 NoSuchKey":                  blobio.ErrNotFound,
			"404 NoSuchBucket":               blobio.ErrNotFound,
			"403 AccessDenied":               blobio.ErrDenied,
			"403 SignatureDoesNotMatch":      blobio.ErrDenied,
			"400 ExpiredToken":               blobio.ErrDenied,
			"401":                            blobio.ErrDenied,
			"503 SlowDown":                   blobio.ErrThrottled,
			"503":                            blobio.ErrThrottled,
			"429":                            blobio.ErrThrottled,
			"400 RequestLimitExceeded":       blobio.ErrThrottled,
			"412 PreconditionFailed":         blobio.ErrExists,
			"409 ConditionalRequestConflict": blobio.ErrConflict,
			"409 OperationAborted":           blobio.ErrConflict,
			"416 InvalidRange":               blobio.ErrRange,
			"500 InternalError":              blobio.ErrTransient,
			"502":                            blobio.ErrTransient,
			"400 RequestTimeout":             blobio.ErrTransient,
			"400 InvalidArgument":            blobio.ErrUnknown,
			"501 NotImplemented":             blobio.ErrUnknown,
		},
		Mounts: map[string]string{
			"s3://b/p/q?endpoint=http://127.0.0.1:9&region=x": "s3://b/p/q",
			"s3a://b/p?region=x":                              "s3://b/p",
			"s3a://b?region=x":                                "s3://b/",
		},
		Forbidden: []string{"s3://AKID:" + secret + "@b/p", "s3://b/p?secret_access_key=" + secret},
		Params: map[string]string{
			"": "",
			"region=eu-west-1&endpoint=https://minio.example:9000&use_path_style=true":               "",
			"s3ForcePathStyle=true&path_style=true":                                                  "",
			"anonymous=true":                                                                         "",
			"role=arn:aws:iam::1:role/r&external_id=x&role_session_name=s":                           "",
			"role=arn:aws:iam::1:role/r&web_identity_token_file=/var/token":                          "",
			"sse=aws:kms&kms_key_id=k":                                                               "",
			"sse=AES256&storage_class=standard_ia":                                                   "",
			"requester_pays=true&dualstack=true&fips=true":                                           "",
			"request_checksum_calculation=when_required&response_checksum_validation=when_supported": "",
			"conditional_writes=false&part_size=8388608&list_page=10":                                "",
			"sse=rot13":                          "sse",
			"storage_class=SHOEBOX":              "storage_class",
			"part_size=1":                        "part_size",
			"list_page=0":                        "list_page",
			"anonymous=perhaps":                  "anonymous",
			"anonymous=true&role=r":              "exclude",
			"web_identity_token_file=/x":         "needs parameter role",
			"endpoint=minio:9000":                "endpoint",
			"endpoint=http://user:pw@host":       "credentials",
			"region=a&region=b":                  "2 times",
			"regoin=a":                           `"regoin" is not known`,
			"request_checksum_calculation=never": "when_supported",
			"secret_access_key=" + secret:        "environment",
			"AWS_SESSION_TOKEN=" + secret:        "environment",
		},
	})
}

// TestConformance runs the suite of all stores on real servers, each a bucket with its options.
func TestConformance(t *testing.T) {
	for _, variable := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_MINIO"} { // of versitygw and MinIO
		t.Run(variable, func(t *testing.T) {
			blobfake.RunServer(t, variable, "&list_page=15&part_size=5242880", OpenURL, blobtest.Store{Parts: 11 << 20})
		})
	}
}
