package bench

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// Values is how many values a column of the tables has; columns of strings have a quarter as many.
const Values = 1 << 20

// Column is a column of numbers or of strings: exactly one slice is set.
type Column struct {
	Name    string
	Ints    []int64
	Floats  []float64
	Strings []string
}

// Bytes is the size of the values in memory: 8 bytes a number, the bytes of strings without their offsets.
func (c *Column) Bytes() int {
	n := 8 * (len(c.Ints) + len(c.Floats))
	for _, s := range c.Strings {
		n += len(s)
	}
	return n
}

// Columns makes the columns of n numbers, always the same.
func Columns(n int) []*Column {
	r := rand.New(rand.NewPCG(20, 26))
	zipf := rand.NewZipf(r, 1.3, 4, 999)
	distinct := ints(1000, func(int) int64 { return r.Int64() })
	at, run := int64(1_700_000_000_000_000), int64(0)
	return []*Column{
		{Name: "ids, ascending by 1", Ints: ints(n, func(i int) int64 { return int64(10_000_000 + i) })},
		{Name: "timestamps, µs, jitter", Ints: ints(n, func(int) int64 { at += 9_000 + r.Int64N(2_000); return at })},
		{Name: "uniform 0..999", Ints: ints(n, func(int) int64 { return r.Int64N(1000) })},
		{Name: "1000 distinct, Zipf", Ints: ints(n, func(int) int64 { return distinct[zipf.Uint64()] })},
		{Name: "runs of about 100", Ints: ints(n, func(int) int64 {
			if r.IntN(100) == 0 {
				run = r.Int64N(1_000_000)
			}
			return run
		})},
		{Name: "random 64-bit", Ints: ints(n, func(int) int64 { return r.Int64() })},
		{Name: "prices, 2 decimals", Floats: floats(n, func() float64 { return math.Round(r.NormFloat64()*4000+9900) / 100 })},
		{Name: "measurements, full precision", Floats: floats(n, func() float64 { return 20 + r.NormFloat64() })},
	}
}

// TextColumns makes the columns of n strings.
func TextColumns(n int) []*Column {
	r := rand.New(rand.NewPCG(20, 27))
	levels := []string{"DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"}
	paths := []string{"/api/v1/users/", "/api/v1/orders/", "/static/img/", "/search?q=", "/health/"}
	return []*Column{
		{Name: "levels, 5 distinct", Strings: texts(n, func() string { return levels[r.IntN(len(levels))] })},
		{Name: "request lines", Strings: texts(n, func() string {
			return "GET " + paths[r.IntN(len(paths))] + strconv.FormatUint(r.Uint64N(1_000_000), 10) + " HTTP/1.1"
		})},
	}
}

func ints(n int, next func(i int) int64) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = next(i)
	}
	return v
}

func floats(n int, next func() float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = next()
	}
	return v
}

func texts(n int, next func() string) []string {
	v := make([]string, n)
	for i := range v {
		v[i] = next()
	}
	return v
}
