package etags_test

import (
	"testing"

	"github.com/shardcat/shardcat/internal/etags"
)

func TestSame(t *testing.T) {
	for _, same := range []string{`"ab-2"`, `ab-2`, `W/"ab-2"`, `"AB-2"`, `"ab-2-gzip"`} {
		if !etags.Same(`"ab-2"`, same) || !etags.Same(same, `"ab-2"`) {
			t.Errorf("%s is another one", same)
		}
	}
	for _, other := range []string{`"ab-3"`, ``, `"ab"`, `"b-2"`} {
		if etags.Same(`"ab-2"`, other) {
			t.Errorf("%s is the same", other)
		}
	}
}
