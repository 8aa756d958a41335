// Package progress draws a bar with rate and time left on a terminal, for work that takes longer than a second.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Mode determines when a bar is drawn.
type Mode uint8

// The modes of the --progress flag.
const (
	Auto   Mode = iota // on a terminal, after a second
	Always             // at once, terminal or not
	Never
)

// ParseMode reads a mode by its name.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "auto":
		return Auto, nil
	case "always":
		return Always, nil
	case "never":
		return Never, nil
	}
	return Never, fmt.Errorf("progress: %q is not auto, always or never", s)
}

const (
	// showAfter is how long work may take before a bar appears.
	showAfter = time.Second
	// redraw is the shortest time between two drawings.
	redraw = 100 * time.Millisecond
	// width of the bar in characters.
	width = 28
)

// Bar shows how far some work is. The zero value and nil draw nothing. Its methods may be called concurrently.
type Bar struct {
	mu          sync.Mutex
	out         io.Writer
	what, unit  string
	total, done int64
	started     time.Time
	drawn       time.Time
	visible     bool
	delay       time.Duration
	now         func() time.Time
}

// On is the mode on an output; terminal reports whether a person is watching it.
func (m Mode) On(terminal bool) Mode {
	if m == Auto && !terminal {
		return Never
	}
	return m
}

// New starts a bar for total units of work (0: unknown) on out.
func New(out io.Writer, mode Mode, what, unit string, total int64) *Bar {
	if mode == Never {
		return nil
	}
	b := &Bar{out: out, what: what, unit: unit, total: total, delay: showAfter, now: time.Now}
	if mode == Always {
		b.delay = 0
	}
	b.started = b.now()
	return b
}

// Add reports n more units as done.
func (b *Bar) Add(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += n
	now := b.now()
	if now.Sub(b.started) < b.delay || b.visible && now.Sub(b.drawn) < redraw {
		return
	}
	b.draw(now)
}

// Expect notes that n more units are to be done than was known.
func (b *Bar) Expect(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += n
}

// At reports how many units are done by now, and of how many (0: unknown).
func (b *Bar) At(done, total int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.total = total
	more := done - b.done
	b.mu.Unlock()
	b.Add(more)
}

// Finish draws the last state, if anything was drawn, and leaves the line.
func (b *Bar) Finish() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.visible || b.delay == 0 {
		b.draw(b.now())
		fmt.Fprintln(b.out)
	}
}

func (b *Bar) draw(now time.Time) {
	b.visible, b.drawn = true, now
	fmt.Fprint(b.out, "\r\x1b[K"+b.line(now.Sub(b.started)))
}

// line is the bar after some time: "scan [=====>    ] 42% 1.2 M rows/s, 3 s left".
func (b *Bar) line(elapsed time.Duration) string {
	rate := float64(b.done) / max(elapsed.Seconds(), 1e-9)
	text := fmt.Sprintf("%s %s %s, %s %s/s", b.what, Count(b.done), b.unit, Count(int64(rate)), b.unit)
	if b.total <= 0 {
		return text
	}
	share := min(float64(b.done)/float64(b.total), 1)
	filled := int(share * width)
	bar := strings.Repeat("=", filled) + strings.Repeat(" ", width-filled)
	left := "?"
	if rate > 0 {
		left = (time.Duration(float64(b.total-b.done)/rate*float64(time.Second)) + time.Second/2).Truncate(time.Second).String()
	}
	return fmt.Sprintf("%s [%s] %3.0f%% %s %s/s, %s left", b.what, bar, 100*share, Count(int64(rate)), b.unit, left)
}

// Count prints a number with at most four digits and a decimal prefix: 999, 12.3 k, 4.56 M.
func Count(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	value, prefix := float64(n), ""
	for _, p := range []string{"k", "M", "G", "T", "P", "E"} {
		if value < 1000 {
			break
		}
		value, prefix = value/1000, p
	}
	return fmt.Sprintf("%.3g %s", value, prefix)
}

// Bytes prints a size in bytes with a binary prefix: 512 B, 1.5 KiB.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n), ""
	for _, p := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if value < 1024 {
			break
		}
		value, prefix = value/1024, p
	}
	return fmt.Sprintf("%.1f %s", value, prefix)
}
