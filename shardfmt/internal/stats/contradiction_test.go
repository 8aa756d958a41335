package stats

import (
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// TestMoreNullsThanPositions: such a descriptor is believed in nothing, or a filter would rule rows out by it.
func TestMoreNullsThanPositions(t *testing.T) {
	for nulls, want := range map[uint64]bool{0: false, 3: false, 4: true, 1 << 62: true} {
		d := &metapb.FieldDescriptor{PositionCount: 3, NullCount: &nulls}
		if what := Contradiction(d); (what != "") != want {
			t.Errorf("%d nulls of 3 positions: %q", nulls, what)
		}
	}
}
