package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// clocked is a bar whose clock the test moves.
func clocked(mode Mode, terminal bool, total int64) (*Bar, *bytes.Buffer, *time.Time) {
	out, now := &bytes.Buffer{}, time.Unix(0, 0)
	b := New(out, mode.On(terminal), "scan", "rows", total)
	if b != nil {
		b.now = func() time.Time { return now }
		b.started = now
	}
	return b, out, &now
}

func TestNothingIsDrawnWhereNobodyWatches(t *testing.T) {
	for _, b := range []*Bar{nil, New(nil, Never.On(true), "", "", 1), New(nil, Auto.On(false), "", "", 1)} {
		if b != nil {
			t.Error("a bar for nobody")
		}
		b.Add(1)
		b.Finish()
	}
}

func TestShortWorkDrawsNothing(t *testing.T) {
	b, out, now := clocked(Auto, true, 10)
	*now = now.Add(900 * time.Millisecond)
	b.Add(10)
	b.Finish()
	if out.Len() > 0 {
		t.Errorf("drew %q", out)
	}
}

func TestBarShowsShareRateAndTimeLeft(t *testing.T) {
	b, out, now := clocked(Auto, true, 4000)
	*now = now.Add(2 * time.Second)
	b.Add(1000)
	if want := "scan [=======                     ]  25% 500 rows/s, 6s left"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q", out, want)
	}
	out.Reset()
	*now = now.Add(redraw / 2)
	b.Add(1)
	if out.Len() > 0 {
		t.Error("redrawn too soon")
	}
	b.Finish()
	if !strings.HasSuffix(out.String(), "\n") {
		t.Error("the line was not left")
	}
}

func TestUnknownTotal(t *testing.T) {
	b, out, now := clocked(Always, false, 0)
	*now = now.Add(time.Second)
	b.Add(1234567)
	if want := "scan 1.23 M rows, 1.23 M rows/s"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestCountAndBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 k", 12345: "12.3 k", 5e12: "5 T"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{1023: "1023 B", 1536: "1.5 KiB", 1 << 30: "1.0 GiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestParseMode(t *testing.T) {
	for s, want := range map[string]Mode{"auto": Auto, "always": Always, "never": Never} {
		if m, err := ParseMode(s); err != nil || m != want {
			t.Errorf("%s: %v, %v", s, m, err)
		}
	}
	if _, err := ParseMode("sometimes"); err == nil {
		t.Error("any word is a mode")
	}
}
