package fileio

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shardcat/shardcat/internal/literal"
)

// timeText reads points in time from text: by the formats given, then as ISO 8601. What names no zone is in zone.
type timeText struct {
	zone    *time.Location
	layouts []timeLayout
	// notes say, for each form, what a time without a zone is taken for.
	notes [3]string
}

// timeLayout is a format in the words of package time.
type timeLayout struct {
	layout string
	form   literal.TimeForm
}

// newTimeText prepares the formats, in the notation of strftime.
func newTimeText(o SourceOptions) (*timeText, error) {
	t := &timeText{zone: o.TimeZone}
	if t.zone == nil {
		t.zone = time.UTC
	}
	t.notes[literal.Zoneless] = "times without a zone are read as " + t.zone.String() + " (--time-zone)"
	t.notes[literal.DateOnly] = "dates are read as midnight " + t.zone.String() + " (--time-zone)"
	for _, format := range o.DateFormats {
		l, err := newTimeLayout(format)
		if err != nil {
			return nil, err
		}
		t.layouts = append(t.layouts, l)
	}
	return t, nil
}

// directives of strftime, as package time writes them; numbers may lack their leading zeros.
var directives = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "1", 'd': "2", 'e': "_2", 'H': "15", 'I': "3", 'M': "4", 'S': "5", 'p': "PM",
	'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday", 'j': "002", 'z': "-0700", 'Z': "MST", 'T': "15:04:05", 'F': "2006-01-02",
	'%': "%",
}

// errTimeFormat is a format of times that is not understood.
var errTimeFormat = errors.New("invalid time format")

func newTimeLayout(format string) (timeLayout, error) {
	l, day, clock, zone := strings.Builder{}, false, false, false
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c >= '0' && c <= '9' {
			return timeLayout{}, fmt.Errorf("%w: %q: a time format needs directives such as %%d, not digits", errTimeFormat, format)
		}
		if c != '%' {
			l.WriteByte(c)
			continue
		}
		if i++; i < len(format) && format[i] == 'f' {
			if i < 2 || format[i-2] != '.' && format[i-2] != ',' {
				return timeLayout{}, fmt.Errorf("%w: %q: %%f must follow a point or a comma", errTimeFormat, format)
			}
			l.WriteString("999999999")
			continue
		}
		known := i < len(format)
		var word string
		if known {
			word, known = directives[format[i]]
		}
		if !known {
			return timeLayout{}, fmt.Errorf("%w: %q: known are %%Y %%y %%m %%d %%e %%j %%b %%B %%a %%A %%H %%I %%M %%S %%f %%p %%z %%Z %%F %%T", errTimeFormat, format)
		}
		day = day || strings.IndexByte("dejF", format[i]) >= 0
		clock = clock || strings.IndexByte("HIT", format[i]) >= 0
		zone = zone || format[i] == 'z'
		l.WriteString(word)
	}
	if !day {
		return timeLayout{}, fmt.Errorf("%w: %q has no day: add %%d, %%j or %%F", errTimeFormat, format)
	}
	out := timeLayout{layout: l.String(), form: literal.DateOnly}
	switch {
	case zone:
		out.form = literal.Zoned
	case clock:
		out.form = literal.Zoneless
	}
	return out, nil
}

// usual reads the forms of literal.ParsePlain where no format was given and what lacks a zone is in UTC.
func (t *timeText) usual(s []byte) (ticks int64, form literal.TimeForm, ok bool) {
	if len(t.layouts) > 0 || t.zone != time.UTC {
		return 0, 0, false
	}
	return literal.ParsePlain(s)
}

// parse reads a point in time, in ticks since year 1.
func (t *timeText) parse(s []byte) (ticks int64, form literal.TimeForm, cut bool, err error) {
	if ticks, form, ok := t.usual(s); ok {
		return ticks, form, false, nil
	}
	for _, l := range t.layouts {
		at, err := time.ParseInLocation(l.layout, string(s), t.zone)
		if err != nil || at.Year() < 1 || at.Year() > 9999 {
			continue
		}
		ticks := at.Unix()*literal.TicksPerSecond + int64(at.Nanosecond()/100) + literal.UnixEpoch
		return ticks, l.form, at.Nanosecond()%100 != 0, nil
	}
	ticks, form, cut, err = literal.ParseISO(s)
	if err != nil || form == literal.Zoned || t.zone == time.UTC {
		return ticks, form, cut, err
	}
	at := time.Unix((ticks-literal.UnixEpoch)/literal.TicksPerSecond, 0).UTC()
	local := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, t.zone)
	shifted := ticks - (at.Unix()-local.Unix())*literal.TicksPerSecond
	if shifted < 0 || shifted > literal.MaxDateTime {
		return 0, form, cut, literal.ErrTime
	}
	return shifted, form, cut, nil
}
