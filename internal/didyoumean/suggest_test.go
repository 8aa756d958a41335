package didyoumean

import "testing"

func TestTo(t *testing.T) {
	names := []string{"warehouse", "vault", "catalog", "cache-dir"}
	for asked, want := range map[string]string{
		"warehose": "warehouse, catalog, vault", "catalogue": "catalog, warehouse, vault",
	} {
		if got := Names(asked, names); got != want {
			t.Errorf("%s: %s, want %s", asked, got, want)
		}
	}
	if got := Names("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
