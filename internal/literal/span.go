package literal

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ErrTimeSpan is text that is not a time span of 64-bit ticks.
var ErrTimeSpan = errors.New("not a time span [-][d.]hh:mm:ss[.fffffff]")

// AppendTimeSpan appends a span of ticks.
func AppendTimeSpan(dst []byte, ticks int64) []byte {
	u := uint64(ticks)
	if ticks < 0 {
		dst = append(dst, '-')
		u = -u
	}
	if d := u / TicksPerDay; d > 0 {
		dst = append(strconv.AppendUint(dst, d, 10), '.')
	}
	rest := int64(u % TicksPerDay)
	dst = append(dst, "00:00:00"...)
	putClock(dst[len(dst)-len("00:00:00"):], uint32(rest/TicksPerSecond))
	if f := rest % TicksPerSecond; f != 0 {
		dst = appendFraction(dst, uint32(f))
	}
	return dst
}

// ParseTimeSpan reads a span. Hours have one or two digits and stay below 24; a fraction may have fewer
// than 7 digits. The error is ErrTimeSpan.
func ParseTimeSpan(s string) (ticks int64, err error) {
	body, negative := strings.CutPrefix(s, "-")
	clock, dayText := body, ""
	if dot, colon := strings.IndexByte(body, '.'), strings.IndexByte(body, ':'); dot >= 0 && dot < colon {
		dayText, clock = body[:dot], body[dot+1:]
		if dayText == "" {
			return 0, ErrTimeSpan
		}
	}
	d, ok := unsigned(dayText, 10_675_199) // the days of 2^63 ticks
	rest, okClock := parseClock(clock)
	if !ok || !okClock {
		return 0, ErrTimeSpan
	}
	u := uint64(d)*TicksPerDay + uint64(rest)
	if negative && u <= 1<<63 {
		return int64(-u), nil
	}
	if negative || u > math.MaxInt64 {
		return 0, ErrTimeSpan
	}
	return int64(u), nil
}

func parseClock(s string) (ticks int64, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return 0, false
	}
	secondText := parts[2]
	if i := strings.IndexByte(secondText, '.'); i >= 0 {
		secondText = secondText[:i]
	}
	fraction, n, cut, okFraction := parseFraction(parts[2][len(secondText):])
	if !okFraction || cut || n != len(parts[2])-len(secondText) {
		return 0, false
	}
	if len(parts[0]) == 0 || len(parts[0]) > 2 || len(parts[1]) != 2 || len(secondText) != 2 {
		return 0, false
	}
	h, okH := unsigned(parts[0], 23)
	m, okM := unsigned(parts[1], 59)
	sec, okS := unsigned(secondText, 59)
	return (h*3600+m*60+sec)*TicksPerSecond + fraction, okH && okM && okS
}

// unsigned reads digits up to a limit; no digits are 0.
func unsigned(s string, limit int64) (n int64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if n = n*10 + int64(s[i]-'0'); n > limit {
			return 0, false
		}
	}
	return n, true
}
