package s3blob

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

func TestLostCreateIsAnError(t *testing.T) {
	for _, size := range []int{3, 6 << 20} {
		b := stub(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			switch {
			case r.Method == http.MethodPost && r.URL.Query().Has("uploads"):
				fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
			case r.URL.Query().Has("partNumber"):
				w.Header().Set("ETag", `"p"`)
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case r.Header.Get("If-None-Match") != "*":
				t.Errorf("%s %s came without its condition", r.Method, r.URL)
			default:
				refuse(412, "PreconditionFailed")(w, r)
			}
		}, "&part_size=5242880")
		err := blobtest.Put(t.Context(), b, "k", []byte(strings.Repeat("x", size)))
		if !errors.Is(err, blobio.ErrExists) {
			t.Errorf("%d bytes: %v, want ErrExists", size, err)
		}
	}
}

func TestAbandonedUploadIsAborted(t *testing.T) {
	var mu sync.Mutex
	var aborted []string
	b := stub(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.Method {
		case http.MethodPost:
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u7</UploadId></InitiateMultipartUploadResult>")
		case http.MethodDelete:
			mu.Lock()
			defer mu.Unlock()
			aborted = append(aborted, r.URL.Query().Get("uploadId"))
			w.WriteHeader(http.StatusNoContent)
		}
	}, "&part_size=5242880")
	w, err := b.Create(t.Context(), "k", blobio.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 6<<20)); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	mu.Lock()
	defer mu.Unlock()
	if len(aborted) != 1 || aborted[0] != "u7" {
		t.Errorf("aborted uploads %q, want u7", aborted)
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	bodies := map[string]http.HandlerFunc{"refused": refuse(403, "SignatureDoesNotMatch"),
		"dropped": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	for name, handler := range bodies {
		b := stub(t, handler, "")
		_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, word := range []string{secret, "AKIDEXAMPLE", "Signature="} {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), word) {
					t.Errorf("%s: error holds %q", name, word)
				}
			}
		}
	}
}

func TestWrongRegionNamesTheRightOne(t *testing.T) {
	b := stub(t, refuse(301, "PermanentRedirect", "X-Amz-Bucket-Region", "eu-north-1"), "")
	_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
	if !errors.Is(err, blobio.ErrDenied) || !strings.Contains(err.Error(), "region eu-north-1") {
		t.Errorf("%v, want ErrDenied that names eu-north-1", err)
	}
}

func TestNoCredentials(t *testing.T) {
	stub(t, nil, "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	b := blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?endpoint=http://127.0.0.1:9")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if !errors.Is(err, blobio.ErrDenied) || !strings.Contains(err.Error(), "no usable AWS credentials") {
		t.Errorf("%v, want ErrDenied about credentials", err)
	}
}

// TestNoRegionNamesTheSetting: nothing is sent without a region, and the error reports how to name it; an endpoint needs none.
func TestNoRegionNamesTheSetting(t *testing.T) {
	stub(t, nil, "")
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	b := blobfake.OpenURL[*bucket](t, OpenURL, "s3://b")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if blobio.Class(err) != blobio.ErrUnknown || !strings.Contains(err.Error(), "?region=") || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("%v, want an error that names ?region=", err)
	}
}

// TestSDKPrintsNothing: looking for credentials where the instance metadata answer in odd ways writes nothing to stderr.
func TestSDKPrintsNothing(t *testing.T) {
	imds := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer imds.Close()
	stub(t, nil, "")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": imds.URL} {
		t.Setenv(name, value)
	}
	stderr := os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = w
	defer func() { os.Stderr = stderr }()
	b := blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?region=eu-west-1&endpoint=http://127.0.0.1:9")
	_, err = b.Stat(t.Context(), "k", blobio.ReadOptions{})
	os.Stderr = stderr
	w.Close()
	if printed, readErr := io.ReadAll(r); readErr != nil || len(printed) > 0 {
		t.Errorf("stderr holds %q, %v", printed, readErr)
	}
	if !errors.Is(err, blobio.ErrDenied) || !strings.Contains(err.Error(), "no usable AWS credentials") {
		t.Errorf("%v, want ErrDenied about credentials", err)
	}
}
