package main

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    int64
		printed string
	}{
		{"0", 0, "0"}, {"7", 7, "7"}, {"7B", 7, "7"}, {"1024", 1024, "1KiB"}, {"1536", 1536, "1536"}, {"2 kib", 2048, "2KiB"}, {"3KB", 3000, "3000"},
		{"512MiB", 512 << 20, "512MiB"}, {"2GB", 2e9, "1953125KiB"}, {"1gib", 1 << 30, "1GiB"}, {"10GiB", 10 << 30, "10GiB"}, {"8388607TiB", 8388607 << 40, "8388607TiB"},
		{"-1MiB", -1 << 20, "-1MiB"},
	} {
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		var got int64
		sizeVar(f, &got, "size", 1, "")
		if err := f.Parse([]string{"--size=" + c.text}); err != nil || got != c.want || f.Lookup("size").Value.String() != c.printed {
			t.Errorf("%s: %d, printed %s, %v; want %d, printed %s", c.text, got, f.Lookup("size").Value, err, c.want, c.printed)
		}
	}
}
