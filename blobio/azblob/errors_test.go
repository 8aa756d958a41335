package azblob

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
)

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
		err := blobtest.Put(t.Context(), b, "k", []byte(strings.Repeat("x", tc.size)))
		if !errors.Is(err, blobio.ErrExists) {
			t.Errorf("%d bytes, %s: %v, want ErrExists", tc.size, tc.code, err)
		}
	}
}

// TestErrorsHoldNoSignature: a SAS stands in the URL of each request, also in errors of the network.
func TestErrorsHoldNoSignature(t *testing.T) {
	handlers := map[string]http.HandlerFunc{"refused": refuse(403, "AuthenticationFailed"),
		"dropped": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	for name, handler := range handlers {
		old := stub(t, handler, "")
		t.Setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=2024&sig="+secret)
		b := blobtest.OpenURL[*Bucket](t, OpenURL, old.Location()+"?endpoint="+old.opts.Endpoint)
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
