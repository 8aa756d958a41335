package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

const secret = "wJalrXUtnFEMIK7MDENGbPxRfiCY"

// stub opens a bucket on a server that answers as the handler does.
func stub(t *testing.T, handler http.HandlerFunc, params string) *Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, "s3://b?endpoint="+server.URL+params)
}

func open(t *testing.T, raw string) *Bucket {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenURL(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return b.(*Bucket)
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

func create(ctx context.Context, b blobio.Bucket, key, content string) error {
	w, err := b.Create(ctx, key, blobio.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, content); err != nil {
		return err
	}
	return w.Close()
}

func TestErrorClasses(t *testing.T) {
	for _, tc := range []struct {
		status int
		code   string
		want   error
	}{
		{404, "NoSuchKey", blobio.ErrNotFound},
		{404, "NoSuchBucket", blobio.ErrNotFound},
		{403, "AccessDenied", blobio.ErrDenied},
		{403, "SignatureDoesNotMatch", blobio.ErrDenied},
		{400, "ExpiredToken", blobio.ErrDenied},
		{401, "", blobio.ErrDenied},
		{503, "SlowDown", blobio.ErrThrottled},
		{503, "", blobio.ErrThrottled},
		{429, "", blobio.ErrThrottled},
		{400, "RequestLimitExceeded", blobio.ErrThrottled},
		{412, "PreconditionFailed", blobio.ErrExists},
		{409, "ConditionalRequestConflict", blobio.ErrConflict},
		{409, "OperationAborted", blobio.ErrConflict},
		{416, "InvalidRange", blobio.ErrRange},
		{500, "InternalError", blobio.ErrTransient},
		{502, "", blobio.ErrTransient},
		{400, "RequestTimeout", blobio.ErrTransient},
		{400, "InvalidArgument", blobio.ErrUnknown},
		{501, "NotImplemented", blobio.ErrUnknown},
	} {
		t.Run(fmt.Sprint(tc.status, tc.code), func(t *testing.T) {
			b := stub(t, refuse(tc.status, tc.code), "")
			_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
			if got := blobio.Class(err); got != tc.want {
				t.Errorf("class %v, want %v (%v)", got, tc.want, err)
			}
			if !strings.Contains(err.Error(), "s3://b/k") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error does not name the object on one line: %q", err)
			}
		})
	}
}

func TestErrorsOfOtherCalls(t *testing.T) {
	b := stub(t, refuse(403, "AccessDenied"), "")
	_, errStat := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	errs := map[string]error{"stat": errStat, "create": create(t.Context(), b, "k", "x"),
		"delete": b.Delete(t.Context(), "k", blobio.DeleteOptions{})}
	for _, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
		errs["list"] = err
	}
	for op, err := range errs {
		if !errors.Is(err, blobio.ErrDenied) || errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%s: %v, want only ErrDenied", op, err)
		}
	}
	if len(errs) != 4 {
		t.Errorf("%d calls failed, want 4", len(errs))
	}
}

func TestRetryAfterIsTold(t *testing.T) {
	b := stub(t, refuse(503, "SlowDown", "Retry-After", "7"), "")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if wait := blobio.RetryAfter(err); wait != 7*time.Second {
		t.Errorf("asked to wait %v, want 7s (%v)", wait, err)
	}
}

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
		err := create(t.Context(), b, "k", strings.Repeat("x", size))
		if !errors.Is(err, blobio.ErrExists) {
			t.Errorf("%d bytes: %v, want ErrExists", size, err)
		}
	}
}

func TestAbandonedUploadIsAborted(t *testing.T) {
	var aborted []string
	b := stub(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.Method {
		case http.MethodPost:
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u7</UploadId></InitiateMultipartUploadResult>")
		case http.MethodDelete:
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
	if len(aborted) != 1 || aborted[0] != "u7" {
		t.Errorf("aborted uploads %q, want u7", aborted)
	}
}

func TestUnresolvableNameIsNotNotFound(t *testing.T) {
	stub(t, nil, "")
	b := open(t, "s3://b?endpoint=http://no-such-store.invalid")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if !errors.Is(err, blobio.ErrTransient) || errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("%v, want ErrTransient", err)
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
	b := open(t, "s3://b?endpoint=http://127.0.0.1:9")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if !errors.Is(err, blobio.ErrDenied) || !strings.Contains(err.Error(), "no usable AWS credentials") {
		t.Errorf("%v, want ErrDenied about credentials", err)
	}
}
