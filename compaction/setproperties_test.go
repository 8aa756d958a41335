package compaction

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog"
)

// Properties that are read later are refused when they are set, or a table is made with them, if they can't be read; nothing changes then.
func TestUnreadablePropertiesAreRefused(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	for _, c := range []struct{ name, value, says string }{
		{catalog.RetentionProperty, "30 days", "such as 30d"},
		{catalog.RetentionProperty, "0d", "positive"},
		{catalog.RetentionProperty, "-1h", "positive"},
		{catalog.JobMemoryProperty, "always", "forever"},
		{catalog.IndexesProperty, "what?", catalog.IndexesProperty},
		{catalog.IndexesProperty, "hash:nobody", catalog.IndexesProperty},
		{"write.metadata.compression-codec", "zstd", "gzip"},
		{PropertyPrefix + "nobody", "1", "unknown setting"},
		{PropertyPrefix + "min-inputs", "few", "min-inputs"},
		{PropertyPrefix + "min-inputs", "0", "above 0"},
		{PropertyPrefix + "max-bytes-per-run", "512 potatoes", "MiB"},
		{PropertyPrefix + "target-size", "-1", "target-size"},
		{PropertyPrefix + "min-size-ratio", "most", "min-size-ratio"},
		{PropertyPrefix + "max-creation-range", "0s", "auto or none"},
		{PropertyPrefix + "lookback", "long", "lookback"},
		{PropertyPrefix + "max-overlap-depth", "deep", "max-overlap-depth"},
		{PropertyPrefix + "allow-pack", "maybe", "allow-pack"},
		{PropertyPrefix + "where", "id ==== 1", "where"},
		{PropertyPrefix + "where", "nobody = 1", "nobody"},
		{PropertyPrefix + "order", "nobody desc", "nobody"},
		{PropertyPrefix + "schedule", "sometimes", "schedule"},
		{PropertyPrefix + "retention", "30 days", "retention"},
		{PropertyPrefix + "expire", "soon", "expire"},
	} {
		before := maps.Clone(tbl.Properties())
		err := SetProperties(ctx, tbl, map[string]string{c.name: c.value}, nil)
		if !errors.Is(err, ErrPolicy) && !errors.Is(err, catalog.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
		if !maps.Equal(tbl.Properties(), before) {
			t.Errorf("%s=%s: the properties are now %v", c.name, c.value, tbl.Properties())
		}
		if !strings.HasPrefix(c.name, PropertyPrefix) {
			if err := tbl.SetProperties(ctx, map[string]string{c.name: c.value}, nil); !errors.Is(err, catalog.ErrInvalid) {
				t.Errorf("%s=%s, by the catalog alone: %v", c.name, c.value, err)
			}
			continue
		}
		if strings.HasSuffix(c.value, "desc") || strings.HasPrefix(c.value, "nobody") {
			continue // a namespace has no columns
		}
		if err := SetNamespaceProperties(ctx, tbl.Catalog(), "default", map[string]string{c.name: c.value}, nil); !errors.Is(err, ErrPolicy) {
			t.Errorf("namespace, %s=%s: %v", c.name, c.value, err)
		}
	}
	good := map[string]string{
		catalog.RetentionProperty: "30d", catalog.JobMemoryProperty: "forever", PropertyPrefix + "order": "id desc", PropertyPrefix + "max-bytes-per-run": "512MiB",
	}
	if err := SetProperties(ctx, tbl, good, nil); err != nil {
		t.Fatal(err)
	}
	if keep, err := tbl.Retention(); err != nil || keep == 0 {
		t.Errorf("%v, %v", keep, err)
	}
}
