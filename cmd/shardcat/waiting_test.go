package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// runOn runs a command line against a store, with credentials that it does not check.
func runOn(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	err := a.execute(t.Context(), args)
	code = a.finish(t.Context(), err)
	return code, out.String(), errs.String()
}

// TestRetryFlags: budget and attempts end a command against a store that stays busy, and a wait of more than a second is
// reported while it lasts.
func TestRetryFlags(t *testing.T) {
	for _, test := range []struct {
		flags    []string
		requests int // at least; exactly where the flags require it
		exact    bool
		notice   bool
	}{
		{[]string{"--retry-budget", "0s"}, 1, true, false},
		{[]string{"--retry-attempts", "2"}, 2, true, false},
		{[]string{"--retry-budget", "1500ms"}, 2, false, true},
	} {
		s := blobfake.NewS3(t, "")
		s.Before(func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
			s.Refuse(w, http.StatusServiceUnavailable, "SlowDown", "")
			return true
		})
		begin := time.Now()
		code, _, stderr := runOn(t, append(test.flags, "shard", "inspect", "s3://b/x.amudai.shard?endpoint="+s.URL)...)
		n := len(s.Requests(""))
		if code != exitFailed || test.exact && n != test.requests || n < test.requests {
			t.Errorf("%v: exit code %d after %d requests: %s", test.flags, code, n, stderr)
		}
		took := time.Since(begin) // on a busy machine a first attempt may take as long as it takes for the notice to come
		if noticed := strings.Contains(stderr, "retrying for up to"); noticed != test.notice && (test.notice || took < time.Second) {
			t.Errorf("%v: after %v: %q", test.flags, took, stderr)
		}
	}
	for _, flags := range [][]string{{"--retry-budget", "-1s"}, {"--retry-attempts", "-1"}, {"--request-timeout", "0s"}, {"--retry-budget", "long"}} {
		if code, _, stderr := runOn(t, append(flags, "table", "list")...); code != exitUsage || !strings.Contains(stderr, flags[0]) {
			t.Errorf("%v: exit code %d: %s", flags, code, stderr)
		}
	}
}

// TestRequestTimeoutFlag: a store that never answers is given up.
func TestRequestTimeoutFlag(t *testing.T) {
	s := blobfake.NewS3(t, "")
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	s.Before(func(_ http.ResponseWriter, r *http.Request, _ string, _ int) bool {
		select {
		case <-r.Context().Done():
		case <-done:
		}
		return true
	})
	code, _, stderr := runOn(t, "--request-timeout", "200ms", "--retry-attempts", "2", "shard", "inspect", "s3://b/x.amudai.shard?endpoint="+s.URL)
	if code != exitFailed || !strings.Contains(stderr, "no response in time (see --request-timeout)") || len(s.Requests("")) != 2 {
		t.Errorf("exit code %d after %d requests: %s", code, len(s.Requests("")), stderr)
	}
}
