package restcat

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog/internal/commiterr"
)

// TestRequestedPause reads Retry-After as seconds and as a date, and bounds it.
func TestRequestedPause(t *testing.T) {
	const most = 2 * time.Minute
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "999999": most, "99999999999999": 0,
		"Mon, 02 Jan 2006 15:04:05 GMT":                                0,
		time.Now().Add(1000 * time.Hour).UTC().Format(http.TimeFormat): most,
		strconv.Itoa(int(most/time.Second) - 1):                        most - time.Second,
	} {
		err := fmt.Errorf("wrapped: %w", &commiterr.Error{After: retryAfter(http.Header{"Retry-After": {text}}), Err: errors.New("lost")})
		if got := commiterr.RequestedPause(err); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
