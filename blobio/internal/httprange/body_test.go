package httprange

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
		header string
		length int64
		want   Extent
		bad    bool
	}{
		{"", 10, Extent{0, 10, 10}, false},
		{"", 0, Extent{0, 0, 0}, false},
		{"", -1, Extent{0, Unknown, Unknown}, false},
		{"bytes 5-9/10", 5, Extent{5, 10, 10}, false},
		{"bytes 5-9/10", -1, Extent{5, 10, 10}, false},
		{"bytes 5-9/*", 5, Extent{5, 10, Unknown}, false},
		{"bytes 11-?/11", 0, Extent{11, Unknown, 11}, false},
		{"bytes 5-8/10", 4, Extent{5, 9, 10}, false},
		{"bytes 5-8/10", 5, Extent{}, true},
		{"bytes 5-10/10", 6, Extent{}, true},
		{"bytes */10", 0, Extent{}, true},
		{"bytes -1-9/10", 5, Extent{}, true},
		{"bytes 0-9/-2", 10, Extent{}, true},
		{"bytes 20-29/10", 10, Extent{}, true},
		{"nonsense", 5, Extent{}, true},
		{"bytes 0-9/99999999999999999999", 10, Extent{}, true},
	} {
		got, err := ParseContentRange(tc.header, tc.length)
		if got != tc.want || (err != nil) != tc.bad {
			t.Errorf("%q, length %d: %+v, %v", tc.header, tc.length, got, err)
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
