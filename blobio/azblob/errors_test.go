package azblob

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
func stub(t *testing.T, handler http.HandlerFunc, params string) *Bucket {
	t.Helper()
	clearEnvironment(t)
	t.Setenv("AZURE_STORAGE_ACCOUNT", "acct")
	t.Setenv("AZURE_STORAGE_KEY", secret)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, "abfss://c@acct.dfs.core.windows.net?endpoint="+server.URL+params)
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
		{404, "BlobNotFound", blobio.ErrNotFound},
		{404, "ContainerNotFound", blobio.ErrNotFound},
		{403, "AuthenticationFailed", blobio.ErrDenied},
		{403, "AuthorizationPermissionMismatch", blobio.ErrDenied},
		{401, "NoAuthenticationInformation", blobio.ErrDenied},
		{409, "PublicAccessNotPermitted", blobio.ErrDenied},
		{409, "BlobImmutableDueToPolicy", blobio.ErrDenied},
		{503, "ServerBusy", blobio.ErrThrottled},
		{503, "", blobio.ErrThrottled},
		{429, "", blobio.ErrThrottled},
		{412, "ConditionNotMet", blobio.ErrExists},
		{409, "BlobAlreadyExists", blobio.ErrExists},
		{403, "UnauthorizedBlobOverwrite", blobio.ErrExists},
		{409, "ContainerBeingDeleted", blobio.ErrConflict},
		{416, "InvalidRange", blobio.ErrRange},
		{500, "InternalError", blobio.ErrTransient},
		{500, "OperationTimedOut", blobio.ErrTransient},
		{502, "", blobio.ErrTransient},
		{400, "InvalidHeaderValue", blobio.ErrUnknown},
	} {
		t.Run(fmt.Sprint(tc.status, tc.code), func(t *testing.T) {
			b := stub(t, refuse(tc.status, tc.code), "")
			_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
			if got := blobio.Class(err); got != tc.want {
				t.Errorf("class %v, want %v (%v)", got, tc.want, err)
			}
			for _, bad := range []string{"\n", secret} {
				if strings.Contains(err.Error(), bad) {
					t.Errorf("error holds %q: %q", bad, err)
				}
			}
		})
	}
}

func TestErrorsOfOtherCalls(t *testing.T) {
	b := stub(t, refuse(403, "AuthorizationFailure"), "")
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
	b := stub(t, refuse(503, "ServerBusy", "Retry-After", "7"), "")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if wait := blobio.RetryAfter(err); wait != 7*time.Second {
		t.Errorf("asked to wait %v, want 7s (%v)", wait, err)
	}
}

// TestLostCreateIsAnError: a conditional upload that loses must end in an error, whatever the library does.
func TestLostCreateIsAnError(t *testing.T) {
	for _, tc := range []struct {
		size   int
		status int
		code   string
	}{
		{3, 409, "BlobAlreadyExists"}, {3, 412, "ConditionNotMet"},
		{6 << 10, 409, "BlobAlreadyExists"}, {6 << 10, 412, "ConditionNotMet"}, {6 << 10, 400, "InvalidBlockList"},
	} {
		b := stub(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			switch {
			case r.Method == http.MethodHead: // the winner's blob
			case r.URL.Query().Get("comp") == "block":
				w.WriteHeader(http.StatusCreated)
			case r.Header.Get("If-None-Match") != "*":
				t.Errorf("%s %s came without its condition", r.Method, r.URL.Path)
			default:
				refuse(tc.status, tc.code)(w, r)
			}
		}, "&part_size=5000")
		err := create(t.Context(), b, "k", strings.Repeat("x", tc.size))
		if !errors.Is(err, blobio.ErrExists) {
			t.Errorf("%d bytes, %s: %v, want ErrExists", tc.size, tc.code, err)
		}
	}
}

func TestUnresolvableNameIsNotNotFound(t *testing.T) {
	stub(t, nil, "")
	b := open(t, "abfss://c@acct.dfs.core.windows.net?endpoint=http://no-such-store.invalid/acct")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if !errors.Is(err, blobio.ErrTransient) || errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("%v, want ErrTransient", err)
	}
}

// TestErrorsHoldNoSignature: a SAS stands in the URL of each request, also in errors of the network.
func TestErrorsHoldNoSignature(t *testing.T) {
	handlers := map[string]http.HandlerFunc{"refused": refuse(403, "AuthenticationFailed"),
		"dropped": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	for name, handler := range handlers {
		old := stub(t, handler, "")
		t.Setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=2024&sig="+secret)
		b := open(t, old.Location()+"?endpoint="+old.opts.Endpoint)
		_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
		if err == nil {
			t.Fatal("no error")
		}
		for _, e := range unwrapAll(err) {
			if text := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(text, "sig=") || strings.Contains(text, secret) {
				t.Errorf("%s: error holds the signature: %T %v", name, e, e)
			}
		}
	}
}

// unwrapAll is an error and all that it wraps.
func unwrapAll(err error) []error {
	all := []error{err}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			all = append(all, unwrapAll(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, unwrapAll(inner)...)
		}
	}
	return all
}
