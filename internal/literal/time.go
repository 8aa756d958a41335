package literal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Ticks in the units of time.
const (
	TicksPerSecond = 10_000_000
	TicksPerDay    = 86_400 * TicksPerSecond
	// UnixEpoch is 1970-01-01 in ticks.
	UnixEpoch = 621_355_968_000_000_000
	// MaxDateTime is the last tick of the year 9999.
	MaxDateTime = 3_155_378_975_999_999_999
)

// Ticks is a time in ticks of 100 ns since year 1, UTC.
func Ticks(t time.Time) int64 {
	return UnixEpoch + t.Unix()*TicksPerSecond + int64(t.Nanosecond())/100
}

// Time is the time of ticks, UTC.
func Time(ticks int64) time.Time {
	return time.Unix(ticks/TicksPerSecond-UnixEpoch/TicksPerSecond, ticks%TicksPerSecond*100).UTC()
}

// ErrTime is text that is not a time of the form wanted, or one outside the years 1 to 9999.
var ErrTime = errors.New("not an RFC 3339 or ISO 8601 time between the years 1 and 9999")

// pairs are the two digits of each number below 100, the first one in the low byte.
var pairs = func() (p [100]uint16) {
	for i := range p {
		p[i] = uint16('0'+i/10) | uint16('0'+i%10)<<8
	}
	return p
}()

// putPair writes the two digits of a number below 100.
func putPair(dst []byte, n uint32) { binary.LittleEndian.PutUint16(dst, pairs[n]) }

// AppendDateTime appends a point in time. Ticks beyond the year 9999, which no writer should store, are appended as a
// plain number of ticks, unsigned as they are stored.
func AppendDateTime(dst []byte, ticks int64) []byte {
	const form = "0000-00-00T00:00:00"
	if ticks < 0 || ticks > MaxDateTime {
		return fmt.Appendf(dst, "%d ticks", uint64(ticks))
	}
	day := ticks / TicksPerDay
	y, m, d := civil(uint32(day))
	dst = append(dst, form+"Z"...)
	text := dst[len(dst)-len(form)-1:]
	putPair(text, y/100)
	putPair(text[2:], y%100)
	putPair(text[5:], m)
	putPair(text[8:], d)
	rest := ticks - day*TicksPerDay
	if rest == 0 {
		return dst
	}
	seconds := rest / TicksPerSecond
	putClock(text[len("0000-00-00T"):], uint32(seconds))
	if f := rest - seconds*TicksPerSecond; f != 0 {
		dst = appendFraction(dst[:len(dst)-1], uint32(f))
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
		dst = append(dst, 'Z')
	}
	return dst
}

// putClock writes the digits of hh:mm:ss into a text that has the colons. There must be less than a hundred hours.
func putClock(dst []byte, seconds uint32) {
	minutes := seconds / 60
	putPair(dst[6:], seconds-60*minutes)
	hours := minutes / 60
	putPair(dst[3:], minutes-60*hours)
	putPair(dst, hours)
}

// appendFraction appends a point and the seven digits of the ticks of a second.
func appendFraction(dst []byte, ticks uint32) []byte {
	dst = append(dst, ".0000000"...)
	text := dst[len(dst)-7:]
	thousands := ticks / 1000 // the first four digits
	rest := ticks - 1000*thousands
	putPair(text, thousands/100)
	putPair(text[2:], thousands%100)
	putPair(text[4:], rest/10)
	text[6] += byte(rest % 10)
	return dst
}

// civil is the date of a number of days since 0001-01-01, in the proleptic Gregorian calendar. Years are
// counted from March, so that the leap day is the last, and divisions are multiplications where that is exact (Neri and Schneider,
// Euclidean Affine Functions and Their Application to Calendar Algorithms).
func civil(days uint32) (year, month, day uint32) {
	quarters := 4*(days+306) + 3 // since 0000-03-01
	century := quarters / 146097
	ofCentury := quarters%146097 | 3
	product := uint64(ofCentury) * 2939745 // 2^32 / 1461
	ofYear := uint32(product) / 2939745 / 4
	months := 2141*ofYear + 197913
	year, month, day = 100*century+uint32(product>>32), months>>16, months&0xffff/2141+1
	if ofYear >= 306 { // January and February
		year, month = year+1, month-12
	}
	return year, month, day
}

// days is the number of days from 0001-01-01 to a date of the years 1 to 9999.
func days(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y, m = y-1, m+12
	}
	era := y / 400
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + int64(day) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 306
}

var monthDays = [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysIn(year, month int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthDays[month-1]
}

// ParseDateTime reads an RFC 3339 time with any offset; date and time may be parted by T, t or a space. cut
// reports that digits below 100 ns were dropped. The error is ErrTime.
func ParseDateTime[T string | []byte](s T) (ticks int64, cut bool, err error) {
	const shape = "dddd-dd-ddTdd:dd:dd"
	if len(s) < len(shape)+1 {
		return 0, false, ErrTime
	}
	for i := range len(shape) {
		c, want := s[i], shape[i]
		switch {
		case want == 'd' && c >= '0' && c <= '9', want == c, want == 'T' && (c == 't' || c == ' '):
		default:
			return 0, false, ErrTime
		}
	}
	year, month, day := number(s[0:4]), number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false, ErrTime
	}
	fraction, n, cut, ok := parseFraction(s[len(shape):])
	offset, okOffset := parseOffset(s[len(shape)+n:])
	if !ok || !okOffset {
		return 0, false, ErrTime
	}
	seconds := int64(hour)*3600 + int64(minute)*60 + int64(second) - offset
	ticks = days(year, month, day)*TicksPerDay + seconds*TicksPerSecond + fraction
	if ticks < 0 || ticks > MaxDateTime {
		return 0, false, ErrTime
	}
	return ticks, cut, nil
}

// number is the value of a few digits.
func number[T string | []byte](s T) int {
	n := 0
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// parseFraction reads a point and digits, if there is a point: ticks, and how many bytes they took.
func parseFraction[T string | []byte](s T) (ticks int64, n int, cut, ok bool) {
	if len(s) == 0 || s[0] != '.' {
		return 0, 0, false, true
	}
	unit := int64(TicksPerSecond)
	for n = 1; n < len(s) && s[n] >= '0' && s[n] <= '9'; n++ {
		if unit == 1 {
			cut = cut || s[n] != '0'
			continue
		}
		unit /= 10
		ticks += int64(s[n]-'0') * unit
	}
	return ticks, n, cut, n > 1
}

// parseOffset reads Z or ±hh:mm, in seconds.
func parseOffset[T string | []byte](s T) (seconds int64, ok bool) {
	if len(s) == 1 && (s[0] == 'Z' || s[0] == 'z') {
		return 0, true
	}
	if len(s) != 6 || s[3] != ':' || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	for _, i := range [...]int{1, 2, 4, 5} {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	h, m := number(s[1:3]), number(s[4:6])
	if h > 23 || m > 59 {
		return 0, false
	}
	seconds = int64(h)*3600 + int64(m)*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}
