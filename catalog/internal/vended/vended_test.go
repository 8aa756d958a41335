package vended

import (
	"fmt"
	"testing"
	"time"
)

// TestStaleKeys: when keys are renewed before they are used.
func TestStaleKeys(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) string { return fmt.Sprint(now.Add(d).UnixMilli()) }
	for name, tc := range map[string]struct {
		keys map[string]string
		age  time.Duration
		want bool
	}{
		"an hour left":                  {map[string]string{"s3.session-token-expires-at-ms": at(time.Hour)}, 0, false},
		"half a minute left of an hour": {map[string]string{"s3.session-token-expires-at-ms": at(30 * time.Second)}, time.Hour, true},
		"ended":                         {map[string]string{"expiration-time": at(-time.Second)}, time.Hour, true},
		"30 s of life, just begun":      {map[string]string{"gcs.oauth2.token-expires-at": at(30 * time.Second)}, 0, false},
		"30 s of life, 2 s left":        {map[string]string{"gcs.oauth2.token-expires-at": at(2 * time.Second)}, 28 * time.Second, true},
		"Azure's":                       {map[string]string{"adls.sas-token-expires-at-ms.a.dfs.core.windows.net": at(time.Second)}, time.Hour, true},
		"no end, new":                   {map[string]string{}, time.Minute, false},
		"no end, old":                   {map[string]string{}, unsaidLife, true},
		"an end that is not a number":   {map[string]string{"expiration-time": "soon"}, time.Minute, false},
	} {
		if got := stale(tc.keys, now.Add(-tc.age), now); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
