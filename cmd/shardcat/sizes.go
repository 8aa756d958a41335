package main

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// sizeValue is a flag of a number of bytes, with or without a unit.
type sizeValue int64

// sizeUnits are the units of a sizeValue, larger ones first, and the forms in which it is printed.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

var errSize = errors.New("must be a number of bytes, or a whole number with a unit, such as 512MiB or 2GB")

// sizeVar adds a flag of a number of bytes.
func sizeVar(f *pflag.FlagSet, to *int64, name string, byDefault int64, usage string) {
	*to = byDefault
	f.Var((*sizeValue)(to), name, usage)
}

// Set implements pflag.Value.
func (s *sizeValue) Set(text string) error {
	number, unit := strings.TrimSpace(text), int64(1)
	for _, u := range sizeUnits {
		if n := len(number) - len(u.name); n > 0 && strings.EqualFold(number[n:], u.name) {
			number, unit = strings.TrimSpace(number[:n]), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && (n > math.MaxInt64/unit || n < math.MinInt64/unit) {
		return strconv.ErrRange
	}
	if err != nil {
		return errSize
	}
	*s = sizeValue(n * unit)
	return nil
}

// String is the size as it can be given, in the largest binary unit of which it is a multiple.
func (s *sizeValue) String() string {
	for _, u := range sizeUnits[:4] {
		if *s != 0 && int64(*s)%u.bytes == 0 {
			return strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Type implements pflag.Value.
func (*sizeValue) Type() string { return "size" }
