package conformance

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
)

// Values of columns as JSON, by the record's number.

// noise is a number that follows no rule.
func noise(i int) uint64 {
	x := uint64(i)*0x9e3779b97f4a7c15 + 1
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// sometimes makes one record in n null.
func sometimes(n int, value func(i int) string) func(i int) string {
	return func(i int) string {
		if noise(i)%uint64(n) == 0 {
			return "null"
		}
		return value(i)
	}
}

// mostly makes all records null but one in n.
func mostly(n int, value func(i int) string) func(i int) string {
	return func(i int) string {
		if noise(i)%uint64(n) != 0 {
			return "null"
		}
		return value(i)
	}
}

// signed and unsigned are numbers of any size that fits the bits.
func signed(bits uint) func(i int) string {
	return func(i int) string { return strconv.FormatInt(int64(noise(i))>>(64-bits), 10) }
}

func unsigned(bits uint) func(i int) string {
	return func(i int) string { return strconv.FormatUint(noise(i)>>(64-bits), 10) }
}

// float is a number of any magnitude, with NaN, infinities and the negative zero among them.
func float(bits int) func(i int) string {
	return func(i int) string {
		switch i % 23 {
		case 3:
			return `"NaN"`
		case 7:
			return `"-Infinity"`
		case 11:
			return "-0.0"
		}
		v := math.Ldexp(float64(noise(i)%100_000), i%60-30)
		return strconv.FormatFloat(v, 'e', -1, bits)
	}
}

// below gives small numbers.
func below(limit int) func(i int) string {
	return func(i int) string { return strconv.Itoa(int(noise(i) % uint64(limit))) }
}

// around gives small numbers of either sign.
func around(limit int) func(i int) string {
	return func(i int) string { return strconv.Itoa(int(noise(i)%uint64(2*limit)) - limit) }
}

// steps rises by step.
func steps(first, step int) func(i int) string {
	return func(i int) string { return strconv.Itoa(first + i*step) }
}

// runs are numbers that stay for a while.
func runs(length int) func(i int) string {
	return func(i int) string { return strconv.Itoa(i / length * 37 % 101) }
}

// few is one of a few values.
func few(values ...string) func(i int) string {
	return func(i int) string { return values[noise(i)%uint64(len(values))] }
}

// rare is zero but for one in n.
func rare(n int, value func(i int) string) func(i int) string {
	return func(i int) string {
		if noise(i)%uint64(n) != 0 {
			return "0"
		}
		return value(i)
	}
}

// hundredths are prices.
func hundredths(i int) string {
	return strconv.FormatFloat(float64(noise(i)%1_000_000)/100, 'f', -1, 64)
}

// near are floats of like magnitude.
func near(bits int) func(i int) string {
	return func(i int) string {
		return strconv.FormatFloat(1+float64(noise(i)>>12)/(1<<52), 'e', -1, bits)
	}
}

// words is text of some words.
func words(i int) string {
	list := []string{"alpha", "beta", "gamma", "delta", "Straße", "東京", "", "x"}
	return strconv.Quote(list[noise(i)%8] + " " + list[noise(i)>>8%8])
}

// logs is text that has much in common.
func logs(i int) string {
	return fmt.Sprintf(`"GET /images/%d/thumb.png HTTP/1.1 %d"`, noise(i)%500, 200+noise(i)>>16%5)
}

// blob is bytes in base64.
func blob(size func(i int) int) func(i int) string {
	return func(i int) string {
		b := make([]byte, size(i))
		for k := range b {
			b[k] = byte(noise(i*31 + k))
		}
		return strconv.Quote(base64.StdEncoding.EncodeToString(b))
	}
}

func sized(n int) func(i int) int { return func(int) int { return n } }

func guid(i int) string {
	x := noise(i)
	return fmt.Sprintf(`"%08x-%04x-%04x-%04x-%012x"`, x>>32, x>>16&0xffff, x&0xffff, x>>48, x>>16)
}

func datetime(i int) string {
	return fmt.Sprintf(`"20%02d-%02d-%02dT%02d:%02d:%02d.%07dZ"`, i%100, 1+i%12, 1+i%28, i%24, i%60, noise(i)%60, noise(i)%10_000_000)
}

func timespan(i int) string {
	sign := []string{"", "-"}[noise(i)%2]
	return fmt.Sprintf(`"%s%d.%02d:%02d:%02d.%07d"`, sign, 1+i%9, i%24, i%60, noise(i)%60, 1+noise(i)%9_999_999)
}

func decimal(i int) string { return fmt.Sprintf(`"%d.%03d"`, int64(noise(i))>>20, noise(i)%1000) }

func dynamic(i int) string {
	return []string{`{"a":[1,2,{"b":null}],"c":"x"}`, `[1.5,true]`, `"text"`, `17`}[noise(i)%4]
}

func boolean(i int) string { return strconv.FormatBool(noise(i)%3 == 0) }

// drifting gives texts of which a run of records has few, and the next run others, some of them the same.
func drifting(i int) string {
	return fmt.Sprintf(`"host-%04d.example.com"`, uint64(i)/300*12+noise(i)%24)
}

// driftingCodes are the same as four bytes, in base64.
func driftingCodes(i int) string {
	code := fmt.Sprintf("%04d", uint64(i)/300*12+noise(i)%24)
	return `"` + base64.StdEncoding.EncodeToString([]byte(code)) + `"`
}
