package rangeread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestParseContentRange(t *testing.T) {
	for _, tc := range []struct {
		header   string
		length   int64
		at, size int64
		bad      bool
	}{
		{"", 10, 0, 10, false}, {"bytes 5-9/10", 5, 5, 10, false}, {"bytes 11-?/11", 0, 11, 11, false},
		{"bytes */10", 0, 0, 0, true}, {"bytes 5-9/*", 5, 0, 0, true}, {"bytes -1-9/10", 5, 0, 0, true},
		{"bytes 20-29/10", 10, 0, 0, true}, {"nonsense", 5, 0, 0, true},
		{"bytes 0-9/99999999999999999999", 10, 0, 0, true},
	} {
		at, size, err := ParseContentRange(tc.header, tc.length)
		if at != tc.at || size != tc.size || (err != nil) != tc.bad {
			t.Errorf("%q: %d of %d, %v", tc.header, at, size, err)
		}
	}
}

func TestBodyThatEndsEarly(t *testing.T) {
	failed := errors.New("failed")
	fail := func(err error) error { return fmt.Errorf("%w: %w", failed, err) }
	got, err := io.ReadAll(newBody(t.Context(), io.NopCloser(strings.NewReader("12345")), 9, fail))
	if string(got) != "12345" || !errors.Is(err, failed) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v; want 12345 and an unexpected end", got, err)
	}
	got, err = io.ReadAll(newBody(t.Context(), io.NopCloser(strings.NewReader("12345 and more")), 5, fail))
	if string(got) != "12345" || err != nil {
		t.Errorf("%q, %v; want 12345 and no more", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := io.ReadAll(newBody(ctx, io.NopCloser(strings.NewReader("12345")), 5, fail)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
