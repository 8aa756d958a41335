package literal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

func TestDateTime(t *testing.T) {
	for text, ticks := range map[string]int64{
		"0001-01-01T00:00:00Z":         0,
		"0001-01-01T00:00:00.0000001Z": 1,
		"1970-01-01T00:00:00Z":         UnixEpoch,
		"2000-02-29T00:00:00Z":         630873792000000000,
		"2023-11-14T22:13:21.4452516Z": 638355968014452516,
		"9999-12-31T23:59:59.9999999Z": MaxDateTime,
		"1855-11-15T00:00:00.5Z":       585340128005000000,
	} {
		if got := string(AppendDateTime(nil, ticks)); got != text {
			t.Errorf("%d: got %s, want %s", ticks, got, text)
		}
		if got, cut, err := ParseDateTime(text); got != ticks || cut || err != nil {
			t.Errorf("%s: got %d (%v), want %d", text, got, err, ticks)
		}
	}
}

// Every day of the calendar is that of package time, and every 997th is read back.
func TestCalendarAgreesWithTime(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := int64(0); n <= MaxDateTime/TicksPerDay; n, day = n+1, day.Add(24*time.Hour) {
		year, month, ofMonth := day.Date()
		if y, m, d := civil(uint32(n)); int(y) != year || time.Month(m) != month || int(d) != ofMonth {
			t.Fatalf("day %d: got %d-%d-%d, want %v", n, y, m, d, day)
		}
		if n%997 != 0 {
			continue
		}
		got := string(AppendDateTime(nil, n*TicksPerDay))
		if want := day.Format(time.RFC3339); got != want {
			t.Fatalf("day %d: got %s, want %s", n, got, want)
		}
		if ticks, _, err := ParseDateTime(got); err != nil || ticks != n*TicksPerDay {
			t.Fatalf("%s: got %d, %v", got, ticks, err)
		}
	}
}

// Every second of a day, and fractions of all lengths.
func TestClock(t *testing.T) {
	fractions := []int64{0, 1, 9_999_999, 5_000_000, 20, 300, 4_000, 50_000, 600_000, 1_234_567, 1_000_001}
	for second := range int64(86_400) {
		f := fractions[second%int64(len(fractions))]
		got := string(AppendDateTime(nil, UnixEpoch+second*TicksPerSecond+f))
		if want := time.Unix(second, f*100).UTC().Format(time.RFC3339Nano); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		span := second*TicksPerSecond + f
		want := time.Unix(second, 0).UTC().Format(time.TimeOnly)
		if f != 0 {
			want += fmt.Sprintf(".%07d", f)
		}
		if got := string(AppendTimeSpan(nil, span)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestParseDateTimeForms(t *testing.T) {
	for in, want := range map[string]string{
		"2024-01-01t01:00:00+02:00":      "2023-12-31T23:00:00Z",
		"2024-01-01 01:00:00.10-00:30":   "2024-01-01T01:30:00.1Z",
		"2024-01-01T00:00:00.123456700z": "2024-01-01T00:00:00.1234567Z",
	} {
		got, cut, err := ParseDateTime(in)
		if err != nil || cut || string(AppendDateTime(nil, got)) != want {
			t.Errorf("%s: got %s, %v", in, AppendDateTime(nil, got), err)
		}
	}
	if _, cut, err := ParseDateTime("2024-01-01T00:00:00.12345678Z"); err != nil || !cut {
		t.Error("digits below 100 ns are truncated, and told")
	}
	for _, bad := range []string{
		"", "2024-01-01", "2024-01-01T00:00:00", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
		"2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T23:60:00Z", "2024-01-01T23:59:60Z",
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2024-01-01T00:00:00.Z",
		"2024-01-01T00:00:00+0200", "2024-01-01T00:00:00Zx", "2024-01-01T00:00:00+24:00", "20240101T000000Z....",
	} {
		if got, _, err := ParseDateTime(bad); err != ErrTime {
			t.Errorf("%q is accepted as %d", bad, got)
		}
	}
}

func TestTimeSpan(t *testing.T) {
	for text, ticks := range map[string]int64{
		"00:00:00":                   0,
		"00:00:01":                   TicksPerSecond,
		"-00:00:10.5459171":          -105459171,
		"1.02:03:04.0000001":         TicksPerDay + (2*3600+3*60+4)*TicksPerSecond + 1,
		"10675199.02:48:05.4775807":  math.MaxInt64,
		"-10675199.02:48:05.4775808": math.MinInt64,
		"23:59:59.9000000":           TicksPerDay - 1_000_000,
	} {
		if got := string(AppendTimeSpan(nil, ticks)); got != text {
			t.Errorf("%d: got %s, want %s", ticks, got, text)
		}
		if got, err := ParseTimeSpan(text); got != ticks || err != nil {
			t.Errorf("%s: got %d, %v", text, got, err)
		}
	}
	if got, err := ParseTimeSpan("1:02:03.5"); err != nil || got != (3723*TicksPerSecond+TicksPerSecond/2) {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "-", "1", "00:00", "24:00:00", "00:60:00", "00:00:60", "1.2.00:00:00", ".00:00:00", "00:00:00.",
		"00:00:00.12345678", "10675199.02:48:05.4775808", "10675200.00:00:00", "--00:00:01", "00:0:00", "00:00:00x"} {
		if got, err := ParseTimeSpan(bad); err == nil {
			t.Errorf("%q is accepted as %d", bad, got)
		}
	}
}

func TestGuid(t *testing.T) {
	const text = "00112233-4455-6677-8899-aabbccddeeff"
	g, err := ParseGuid("00112233-4455-6677-8899-AABBCCDDEEFF")
	if err != nil || g[0] != 0 || g[1] != 0x11 || g[15] != 0xff || string(AppendGuid(nil, g[:])) != text {
		t.Fatalf("%x %v", g, err)
	}
	if h, err := ParseGuid("00112233445566778899aabbccddeeff"); err != nil || h != g {
		t.Error(h, err)
	}
	if s := SwapGuid(g); string(AppendGuid(nil, s[:])) != "33221100-5544-7766-8899-aabbccddeeff" || SwapGuid(s) != g {
		t.Errorf("%x", s)
	}
	for _, bad := range []string{"", text[1:], text + "0", "00112233-4455-6677-8899-aabbccddeefg", "0011-22334455-6677-8899-aabbccddeeff"} {
		if _, err := ParseGuid(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestFloats(t *testing.T) {
	for _, c := range []struct {
		v    float64
		bits int
		want string
	}{
		{0, 64, "0.0"}, {math.Copysign(0, -1), 64, "-0.0"}, {5, 64, "5.0"}, {0.1, 64, "0.1"}, {float64(float32(0.1)), 32, "0.1"},
		{1e15, 64, "1000000000000000.0"}, {1e16, 64, "1e16"}, {1e22, 64, "1e22"}, {5.402352615638852e37, 64, "5.402352615638852e37"},
		{1e-5, 64, "0.00001"}, {1e-6, 64, "1e-6"}, {5e-324, 64, "5e-324"}, {-2048.000000079425, 64, "-2048.000000079425"},
		{math.MaxFloat64, 64, "1.7976931348623157e308"}, {math.MaxFloat32, 32, "3.4028235e38"},
		{float64(float32(1e-6)), 32, "0.000001"}, {float64(float32(2e13)), 32, "2e13"}, {float64(float32(1e12)), 32, "1000000000000.0"},
		{math.NaN(), 64, "NaN"}, {math.Inf(1), 32, "Infinity"}, {math.Inf(-1), 32, "-Infinity"},
	} {
		got := string(AppendFloat(nil, c.v, c.bits))
		if got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if back, err := strconv.ParseFloat(got, c.bits); err != nil || math.Float64bits(back) != math.Float64bits(c.v) && c.v == c.v {
			t.Errorf("%s reads back as %g", got, back)
		}
	}
}

// What Floats takes a short way is written as AppendFloat does it, whatever came before.
func TestFloatsInTurn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := []float64{0, math.Copysign(0, -1), 5, 0.1, 0.3, 0.1 + 0.2, 1e15, 1e14 + 0.5, 1e16, 1e-5, 1.5e-5, 9e-6, 0.07, -21168.23, 99999999999999.9,
		999999999999999.9, 123456789012.345, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, 4503599627370496.5, 9007199254740993}
	for range 200_000 {
		switch random.IntN(4) {
		case 0:
			values = append(values, float64(random.IntN(1e9))/100)
		case 1:
			values = append(values, math.Float64frombits(random.Uint64()))
		case 2:
			values = append(values, -float64(random.Int64N(1e15))/math.Pow10(random.IntN(16)))
		default:
			values = append(values, math.Nextafter(float64(random.Int64N(1e12))/1e4, 0))
		}
	}
	for seed := range uint64(3) {
		var f Floats
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		for _, v := range values {
			if got, want := string(f.Append(nil, v)), string(AppendFloat(nil, v, 64)); got != want {
				t.Fatalf("got %s, want %s, with %d places", got, want, f.places)
			}
		}
	}
}

func FuzzParseDateTime(f *testing.F) {
	f.Add("2024-02-29T12:00:00.1234567+02:00")
	f.Add("9999-12-31T23:59:59.9999999Z")
	f.Fuzz(func(t *testing.T, s string) {
		ticks, _, err := ParseDateTime(s)
		if err != nil {
			return
		}
		text := string(AppendDateTime(nil, ticks))
		if again, cut, err := ParseDateTime(text); err != nil || cut || again != ticks {
			t.Fatalf("%q is %d, prints as %s, reads as %d", s, ticks, text, again)
		}
	})
}

func FuzzParseTimeSpan(f *testing.F) {
	f.Add("-1.02:03:04.5000000")
	f.Add("10675199.02:48:05.4775807")
	f.Fuzz(func(t *testing.T, s string) {
		ticks, err := ParseTimeSpan(s)
		if err != nil {
			return
		}
		text := string(AppendTimeSpan(nil, ticks))
		if again, err := ParseTimeSpan(text); err != nil || again != ticks {
			t.Fatalf("%q is %d, prints as %s, reads as %d (%v)", s, ticks, text, again, err)
		}
	})
}

// What ParsePlain takes is what ParseISO reads, and it takes all that most programs write.
func TestPlainTimesAreThoseOfISO(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 7))
	check := func(s []byte) bool {
		ticks, form, ok := ParsePlain(s)
		want, wantForm, cut, err := ParseISO(s)
		if ok && (err != nil || ticks != want || form != wantForm || cut) {
			t.Fatalf("%q is %d, %d, want %d, %d, %v, %v", s, ticks, form, want, wantForm, cut, err)
		}
		return ok
	}
	for range 200_000 {
		at := AppendDateTime(nil, r.Int64N(MaxDateTime+1))
		if !check(at) || !check(at[:10]) {
			t.Fatalf("%s is read the long way", at)
		}
		at[r.IntN(len(at))] = "0123456789-:.TZ /"[r.IntN(17)]
		check(at)
		check(at[:r.IntN(len(at)+1)])
	}
}

func BenchmarkText(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var prices [1024]float64
	var days, times [1024]int64
	for i := range prices {
		prices[i] = float64(random.IntN(10_000_000)) / 100
		days[i] = UnixEpoch + random.Int64N(20_000)*TicksPerDay
		times[i] = UnixEpoch + random.Int64N(20_000*TicksPerDay)
	}
	var dst []byte
	var f Floats
	for name, do := range map[string]func(i int){
		"prices": func(i int) { dst = f.Append(dst, prices[i]) },
		"days":   func(i int) { dst = AppendDateTime(dst, days[i]) },
		"times":  func(i int) { dst = AppendDateTime(dst, times[i]) },
		"guids":  func(i int) { dst = AppendGuid(dst, []byte("0123456789abcdef")) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				dst = dst[:0]
				for i := range prices {
					do(i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(prices)), "ns/value")
		})
	}
}

// Ticks beyond the year 9999 are printed as they are stored: unsigned.
func TestTicksBeyondTheYear9999(t *testing.T) {
	for ticks, want := range map[uint64]string{
		MaxDateTime:     "9999-12-31T23:59:59.9999999Z",
		MaxDateTime + 1: "3155378976000000000 ticks",
		1 << 63:         "9223372036854775808 ticks",
		math.MaxUint64:  "18446744073709551615 ticks",
	} {
		if got := string(AppendDateTime(nil, int64(ticks))); got != want {
			t.Errorf("%d: %s, want %s", ticks, got, want)
		}
	}
}
