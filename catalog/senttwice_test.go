package catalog

import (
	"context"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/catalog/internal/commiterr"
)

// TestCommitSentTwiceAroundARename: a statement that moves a table on, and comes a second time after the table got another name, deletes no metadata file that
// the table has.
func TestCommitSentTwiceAroundARename(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	before := tbl.MetadataLocation()
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	renamed := Name{"default", "persons"}
	if _, err := c.Rename(ctx, tableName, renamed); err != nil {
		t.Fatal(err)
	}
	if refused, err := c.sql.Point(ctx, tableName.identifier(), before, tbl.MetadataLocation()); refused || commiterr.ClassOf(err) != commiterr.Unknown {
		t.Errorf("refused %v, %v, want an unknown outcome", refused, err)
	}
	back, err := g.open(nil, nil).Load(ctx, renamed)
	if err != nil {
		t.Fatal(err)
	}
	if ids, _ := scanIDs(t, back, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 10)) {
		t.Errorf("rows %v", ids)
	}
}
