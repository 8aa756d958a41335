// Package schedule reads when tables are looked at.
package schedule

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/shardcat/shardcat/internal/literal"
)

// Schedule determines when a table is looked at: at intervals, or at the times of a cron expression.
type Schedule struct {
	every time.Duration
	cron  cron.Schedule
	text  string
}

// Default is that of a table: it is left alone for ten minutes after it was looked at.
var Default = Every(10*time.Minute, "10m0s")

// Every is an interval; text is what String gives.
func Every(interval time.Duration, text string) Schedule {
	return Schedule{every: interval, text: text}
}

// minEvery bounds how often a table is looked at: a plan reads its manifests.
const minEvery = time.Second

// Parse reads an interval ("10m", "1d") or five fields of cron, with the time zone before them if it is not
// UTC ("CRON_TZ=Europe/Berlin 0 3 * * *"). The empty text is every 10 minutes.
func Parse(text string) (Schedule, error) {
	if text == "" {
		return Default, nil
	}
	if every, err := literal.ParseAge(text); err == nil {
		if every < minEvery {
			return Schedule{}, fmt.Errorf("schedule %q: the minimum is %s", text, minEvery)
		}
		return Schedule{every: every, text: text}, nil
	}
	times, err := cron.ParseStandard(inUTC(text))
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: must be an interval like 10m or a cron expression with five fields", text)
	}
	return Schedule{cron: times, text: text}, nil
}

// inUTC names the time zone where the expression does not.
func inUTC(text string) string {
	if len(text) > 3 && (text[:3] == "TZ=" || len(text) > 8 && text[:8] == "CRON_TZ=") {
		return text
	}
	return "CRON_TZ=UTC " + text
}

// Next is the first time after t.
func (s Schedule) Next(t time.Time) time.Time {
	if s.cron != nil {
		return s.cron.Next(t)
	}
	if s.every == 0 {
		return t.Add(Default.every)
	}
	return t.Add(s.every)
}

// String is the text that Parse reads.
func (s Schedule) String() string { return s.text }

// Passed reports whether a chore that was last done at a time is due again. By a clock that was set back it has not been done yet.
func (s Schedule) Passed(last, now time.Time) bool {
	return now.Before(last) || !s.Next(last).After(now)
}

// Cron is the expression with its time zone, as "CRON_TZ=UTC 0 3 * * *"; empty for an interval.
func (s Schedule) Cron() string {
	if s.cron == nil {
		return ""
	}
	return inUTC(s.text)
}
