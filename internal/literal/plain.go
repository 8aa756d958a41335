package literal

import "encoding/binary"

// digitPairs reads eight bytes of two digits each behind the other, but for the bytes of separators that shape states: its bytes are
// '0' where a digit is wanted, and the separator elsewhere. The digit at byte i and that behind it make the number in byte i of
// what comes back.
func digitPairs(s []byte, shape, limit uint64) (pairs uint64, ok bool) {
	x := binary.LittleEndian.Uint64(s) ^ shape
	if (x|(x+limit))&0x8080808080808080 != 0 {
		return 0, false
	}
	return x*10 + x>>8, true
}

// Shapes of the first eight bytes of a date, 0000-00-, and of a time of day, 00:00:00, as digitPairs takes them. What their limits
// add to a byte goes beyond 0x7f if it is more than 9 off a digit's zero, or anything off a separator.
const (
	dateShape  = 0x2d30302d30303030
	dateLimit  = 0x7f76767f76767676
	clockShape = 0x30303a30303a3030
	clockLimit = 0x76767f76767f7676
)

// ParsePlain reads the two forms that most programs write, YYYY-MM-DD and YYYY-MM-DDThh:mm:ss[.f]Z with up to seven digits of a
// second's fraction, as ParseISO does. For anything else, right or wrong, ok is false.
func ParsePlain(s []byte) (ticks int64, form TimeForm, ok bool) {
	if len(s) < 10 {
		return 0, 0, false
	}
	date, ok := digitPairs(s, dateShape, dateLimit)
	tens, ones := s[8]-'0', s[9]-'0'
	if !ok || tens > 9 || ones > 9 {
		return 0, 0, false
	}
	year, month, day := int(date&0xff*100+date>>16&0xff), int(date>>40&0xff), int(tens*10+ones)
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, 0, false
	}
	ticks = days(year, month, day) * TicksPerDay
	if len(s) == 10 {
		return ticks, DateOnly, true
	}
	clock, ok := plainClock(s[10:])
	return ticks + clock, Zoned, ok
}

// plainClock reads Thh:mm:ss[.f]Z.
func plainClock(s []byte) (ticks int64, ok bool) {
	last := len(s) - 1
	if last < 9 || s[0] != 'T' && s[0] != ' ' || s[last] != 'Z' {
		return 0, false
	}
	clock, ok := digitPairs(s[1:], clockShape, clockLimit)
	hour, minute, second := int64(clock&0xff), int64(clock>>24&0xff), int64(clock>>48&0xff)
	if !ok || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	ticks = (hour*3600 + minute*60 + second) * TicksPerSecond
	if last == 9 {
		return ticks, true
	}
	fraction := s[10:last] // none, or not a digit, behind the point is left to who reports errors
	if s[9] != '.' || len(fraction) == 0 || len(fraction) > 7 {
		return 0, false
	}
	unit := int64(TicksPerSecond)
	for _, c := range fraction {
		if c -= '0'; c > 9 {
			return 0, false
		}
		unit /= 10
		ticks += int64(c) * unit
	}
	return ticks, true
}
