package literal

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

var units = []struct {
	suffix string
	factor int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1},
}

// ParseSize reads a number with an optional unit: "512MiB", "4k".
func ParseSize(text string) (int64, error) {
	factor := int64(1)
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = strings.TrimSpace(digits), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("must be an integer, for sizes with an optional unit such as MiB")
	}
	if n < 0 || n > math.MaxInt64/factor {
		return 0, errors.New("out of range")
	}
	return n * factor, nil
}
