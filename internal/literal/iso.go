package literal

// TimeForm is how much of a point in time a text states.
type TimeForm uint8

// Zoned names its offset from UTC, Zoneless doesn't, DateOnly is a day without a time. The latter two are points in
// time only by a zone that somebody else knows.
const (
	Zoned TimeForm = iota
	Zoneless
	DateOnly
)

// ParseISO reads the times of ISO 8601 that programs write: a date, with - or / between its parts; behind T or a space
// a time of day down to the minute or any fraction of a second; behind that an offset (Z, UTC, ±hh, ±hhmm or ±hh:mm).
// What names no offset is read as UTC, and form reports so. cut means that digits below 100 ns were dropped. The error
// is ErrTime.
func ParseISO[T string | []byte](s T) (ticks int64, form TimeForm, cut bool, err error) {
	const date, clock = "dddd-dd-dd", "Tdd:dd"
	if len(s) < len(date) || !shaped(s[:len(date)], date) || s[4] != s[7] {
		return 0, 0, false, ErrTime
	}
	year, month, day := number(s[0:4]), number(s[5:7]), number(s[8:10])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, 0, false, ErrTime
	}
	ticks = days(year, month, day) * TicksPerDay
	s = s[len(date):]
	if len(s) == 0 {
		return ticks, DateOnly, false, nil
	}
	if len(s) < len(clock) || !shaped(s[:len(clock)], clock) {
		return 0, 0, false, ErrTime
	}
	hour, minute, second := number(s[1:3]), number(s[4:6]), 0
	s = s[len(clock):]
	var fraction int64
	if len(s) > 0 && s[0] == ':' {
		if len(s) < 3 || !shaped(s[:3], ":dd") {
			return 0, 0, false, ErrTime
		}
		second = number(s[1:3])
		var n int
		var ok bool
		if fraction, n, cut, ok = parseFraction(s[3:]); !ok {
			return 0, 0, false, ErrTime
		}
		s = s[3+n:]
	}
	offset, form, ok := isoOffset(s)
	if !ok || hour > 23 || minute > 59 || second > 59 {
		return 0, 0, false, ErrTime
	}
	ticks += (int64(hour)*3600+int64(minute)*60+int64(second)-offset)*TicksPerSecond + fraction
	if ticks < 0 || ticks > MaxDateTime {
		return 0, 0, false, ErrTime
	}
	return ticks, form, cut, nil
}

// shaped reports whether text has a shape: d is a digit, T parts date and time, - parts a date.
func shaped[T string | []byte](s T, shape string) bool {
	for i := range len(shape) {
		c := s[i]
		switch shape[i] {
		case 'd':
			if c < '0' || c > '9' {
				return false
			}
		case 'T':
			if c != 'T' && c != 't' && c != ' ' {
				return false
			}
		case '-':
			if c != '-' && c != '/' {
				return false
			}
		default:
			if c != shape[i] {
				return false
			}
		}
	}
	return true
}

// isoOffset reads what follows a time of day: nothing, Z, UTC or an offset, in seconds.
func isoOffset[T string | []byte](s T) (seconds int64, form TimeForm, ok bool) {
	if len(s) > 0 && s[0] == ' ' {
		s = s[1:]
		if len(s) == 0 {
			return 0, 0, false
		}
	}
	switch {
	case len(s) == 0:
		return 0, Zoneless, true
	case string(s) == "UTC", string(s) == "GMT":
		return 0, Zoned, true
	case len(s) == 3 && (s[0] == '+' || s[0] == '-'):
		seconds, ok = parseOffset(string(s) + ":00")
	case len(s) == 5 && (s[0] == '+' || s[0] == '-'):
		seconds, ok = parseOffset(string(s[:3]) + ":" + string(s[3:]))
	default:
		seconds, ok = parseOffset(s)
	}
	return seconds, Zoned, ok
}
