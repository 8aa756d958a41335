package azblob

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
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
		b := blobfake.OpenURL[*bucket](t, OpenURL, old.Location()+"?endpoint="+old.opts.Endpoint)
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

// TestRefusalsSayWhatToDo: what lasts until somebody does something is named as such, in reads, writes and deletes, and not tried again.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for code, want := range map[string]struct {
		status int
		do     string
	}{
		"BlobArchived":                {409, "rehydrate it"},
		"BlobBeingRehydrated":         {409, "retry in a few hours"},
		"SnapshotsPresent":            {409, "has snapshots"},
		"LeaseIdMissing":              {412, "break the lease"},
		"BlobImmutableDueToPolicy":    {409, "immutability policy"},
		"BlobImmutableDueToLegalHold": {409, "legal hold"},
	} {
		var requests atomic.Int64
		b := stub(t, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			refuse(want.status, code)(w, r)
		}, "")
		client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond}})
		if err := client.MountBucket("abfss://c@acct.dfs.core.windows.net/", b); err != nil {
			t.Fatal(err)
		}
		const url = "abfss://c@acct.dfs.core.windows.net/k"
		for name, do := range map[string]func() error{
			"read":   func() error { _, err := client.ReadRange(t.Context(), url, 0, make([]byte, 1)); return err },
			"write":  func() error { return client.Put(t.Context(), url, []byte("x")) },
			"delete": func() error { return client.Delete(t.Context(), url, "") },
		} {
			requests.Store(0)
			err := do()
			if blobio.Class(err) != blobio.ErrDenied || !strings.Contains(err.Error(), want.do) || requests.Load() != 1 {
				t.Errorf("%s, %s: %v after %d requests; want ErrDenied that says %q after one", name, code, err, requests.Load(), want.do)
			}
		}
		client.Close()
	}
}
