package simd

import (
	"runtime"
	"strings"
	"testing"
)

// SHARDCAT_CPU names a tier of this machine, or is refused by the name it has.
func TestTier(t *testing.T) {
	tiers := available()
	for _, want := range tiers {
		if got, err := choose(want.name); err != nil || got.name != want.name {
			t.Errorf("%s chooses %s, %v", want.name, got.name, err)
		}
	}
	best := tiers[len(tiers)-1].name
	if tiers[len(tiers)-1].named {
		best = tiers[len(tiers)-2].name
	}
	if got, err := choose(""); err != nil || got.name != best {
		t.Errorf("no name chooses %s of %s, %v", got.name, names(tiers), err)
	}
	for name, why := range map[string]string{"AVX2": "no such tier", "AVX512": "no such tier", "none such": "no such tier"} {
		got, err := choose(name)
		if err == nil || got.name != best {
			t.Errorf("%s chooses %s and is not refused", name, got.name)
		} else if text := err.Error(); !strings.Contains(text, "SHARDCAT_CPU="+name+": "+why) || !strings.HasSuffix(text, names(tiers)) {
			t.Errorf("%s is refused by %q", name, text)
		}
	}
	for _, name := range []string{avx2, avx512} {
		_, lacks := assembled(name)
		if _, err := choose(name); lacks != nil && (err == nil || !strings.Contains(err.Error(), lacks.Error())) {
			t.Errorf("%s is refused by %v, not by %v", name, err, lacks)
		}
	}
	if (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") && len(tiers) < 2 {
		t.Errorf("tiers %s on %s", names(tiers), runtime.GOARCH)
	}
}

// The last tier is the default, but never one that is there by its name alone.
func TestUsualTier(t *testing.T) {
	wide := &tier{name: avx512}
	if got := usual([]*tier{portable, generic, wide}); got != wide {
		t.Errorf("%s is the default", got.name)
	}
	wide.named = true
	if got := usual([]*tier{portable, generic, wide}); got != generic {
		t.Errorf("%s is the default, where %s is by its name alone", got.name, wide.name)
	}
}

// The tables of functions of the generic tier have no gaps.
func TestUnpackers(t *testing.T) {
	for width := 1; width <= 64; width++ {
		if width <= 8 && unpack8[width] == nil || width <= 16 && unpack16[width] == nil ||
			width <= 32 && unpack32[width] == nil || unpack64[width] == nil {
			t.Errorf("no kernel for width %d", width)
		}
	}
}
