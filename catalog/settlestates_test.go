package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/manifest"
)

// TestOlderStates: the logs of metadata files decide which of two states is older, then sequence numbers, then times.
func TestOlderStates(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	text, err := json.Marshal(tbl.ice.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	state := func(at string, sequence, millis int64, log ...string) *table.Table {
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		var files []map[string]any
		for _, l := range log {
			files = append(files, map[string]any{"metadata-file": l, "timestamp-ms": 1})
		}
		m["last-sequence-number"], m["last-updated-ms"], m["metadata-log"] = sequence, millis, files
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		meta, err := table.ParseMetadataBytes(raw)
		if err != nil {
			t.Fatal(err)
		}
		return table.New(tableName.identifier(), meta, at, nil, nil)
	}
	for name, c := range map[string]struct {
		a, b *table.Table
		want bool
	}{
		"the same file":                     {state("a", 1, 100), state("a", 2, 200), false},
		"nothing known":                     {state("a", 1, 100), state("", 2, 200), false},
		"of a place without one":            {state("", 1, 100), state("a", 2, 200), true},
		"named by the other's log":          {state("a", 5, 500), state("b", 1, 100, "x", "a"), true},
		"whose log names the other":         {state("b", 1, 100, "a", "x"), state("a", 5, 500), false},
		"lower sequence number":             {state("a", 1, 500), state("b", 2, 100), true},
		"higher sequence number":            {state("a", 2, 100), state("b", 1, 500), false},
		"same sequence number, before":      {state("a", 2, 100), state("b", 2, 101), true},
		"same sequence number, same time":   {state("a", 2, 100), state("b", 2, 100), false},
		"same sequence number, after":       {state("a", 2, 101), state("b", 2, 100), false},
		"the logs name others, lower":       {state("a", 1, 100, "x"), state("b", 2, 100, "y"), true},
		"the logs name others, not lower":   {state("a", 2, 100, "x"), state("b", 2, 100, "y"), false},
		"a log that names the file itself":  {state("a", 1, 100, "a"), state("b", 2, 100, "b"), true},
		"sequence of an older clock, later": {state("a", 3, 1), state("b", 2, 1<<40), false},
	} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestMovedTables: what the error of a change to a table that is not under its name leaves open.
func TestMovedTables(t *testing.T) {
	sent, local := errLost, &commiterr.Error{Class: commiterr.Refused, Local: true, Err: errLost}
	for _, c := range []struct {
		name    string
		state   state
		v       commiterr.Class
		doubt   bool
		send    error
		want    error
		open    bool // nothing may be deleted
		unknown bool
	}{
		{"gone after an unknown outcome", state{gone: true, err: ErrNotFound}, commiterr.Unknown, true, sent, ErrUnknownOutcome, true, true},
		{"gone, an unknown outcome before", state{gone: true, err: ErrNotFound}, commiterr.Gone, true, sent, ErrUnknownOutcome, true, true},
		{"renamed after an unknown outcome", state{renamed: true}, commiterr.Conflict, true, sent, ErrUnknownOutcome, true, true},
		{"gone, as the catalog answered", state{gone: true, err: ErrNotFound}, commiterr.Gone, false, sent, ErrNotFound, true, false},
		{"gone, another has its name", state{gone: true, err: errOtherTable}, commiterr.Gone, false, sent, ErrConflict, true, false},
		{"gone after a conflict", state{gone: true, err: ErrNotFound}, commiterr.Conflict, false, sent, ErrNotFound, true, false},
		{"another has its name after a conflict", state{gone: true, err: errOtherTable}, commiterr.Conflict, false, sent, ErrConflict, true, false},
		{"gone, nothing was sent", state{gone: true, err: ErrNotFound}, commiterr.Refused, false, local, ErrNotFound, false, false},
		{"renamed, the catalog has none of the name", state{renamed: true}, commiterr.Gone, false, sent, ErrNotFound, false, false},
		{"renamed after a conflict", state{renamed: true}, commiterr.Conflict, false, sent, ErrNotFound, false, false},
		{"renamed, nothing was sent", state{renamed: true}, commiterr.Refused, false, local, ErrNotFound, false, false},
	} {
		err := (&Table{name: tableName}).moved(c.state, c.v, c.doubt, c.send)
		if !errors.Is(err, c.want) || mayBeCommitted(err) != c.open || errors.Is(err, ErrUnknownOutcome) != c.unknown {
			t.Errorf("%s: %v; may be committed: %v", c.name, err, mayBeCommitted(err))
		}
	}
}

// TestLookAtUnusableState: a table whose state this program can't use was not read: nothing is concluded from the state that it had before.
func TestLookAtUnusableState(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	if s := tbl.look(ctx); s.err != nil || s.gone || s.renamed {
		t.Errorf("before: %+v", s)
	}
	other := g.load(c)
	garbage := table.NewSetPropertiesUpdate(iceberg.Properties{manifest.TypesProperty: "{"})
	if _, _, err := c.ice.CommitTable(ctx, tableName.identifier(), nil, []table.Update{garbage}); err != nil {
		t.Fatal(err)
	}
	at := other.MetadataLocation()
	if s := other.look(ctx); s.err == nil || s.gone || s.renamed || other.MetadataLocation() != at {
		t.Errorf("%+v, at %s", s, other.MetadataLocation())
	}
}

// scriptedCommits answers the n-th commit request by a function, which may call the real one.
type scriptedCommits struct {
	icecatalog.Catalog
	n      int
	answer func(n int, updates []table.Update, real func() (table.Metadata, string, error)) (table.Metadata, string, error)
}

func (c *scriptedCommits) CommitTable(ctx context.Context, ident table.Identifier, r []table.Requirement, u []table.Update) (table.Metadata, string, error) {
	c.n++
	return c.answer(c.n, u, func() (table.Metadata, string, error) { return c.Catalog.CommitTable(ctx, ident, r, u) })
}

// TestManifestListOfACarrier: where a change of metadata goes along with a snapshot that changes no row, the files of that snapshot are deleted only
// if it was not sent; those of a commit that was made, may have been made or met another writer stay.
func TestManifestListOfACarrier(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		err  error
		goes bool
	}{
		"made":     {nil, false},
		"unknown":  {errLost, false},
		"conflict": {table.ErrCommitFailed, false},
		"denied":   {rest.ErrForbidden, false}, // as a gateway may whose server has carried it out
		"invalid":  {table.ErrInvalidMetadata, true},
	} {
		g := newGround(t)
		cat := g.open(nil, nil)
		now := cat.opts.Now
		cat.opts.Now = func() time.Time { return now().Add(time.Hour) }
		tbl := g.create(cat)
		for i := range 2 {
			if _, err := appendFake(tbl, "", i); err != nil {
				t.Fatal(err)
			}
		}
		cat.opts.Now = now
		var list string // the manifest list of the carrier
		cat.ice = &scriptedCommits{Catalog: cat.ice, answer: func(n int, updates []table.Update, real func() (table.Metadata, string, error)) (table.Metadata, string, error) {
			if n == 1 {
				return real()
			}
			text, err := json.Marshal(updates)
			if err != nil {
				t.Error(err)
			}
			_, after, _ := strings.Cut(string(text), `"manifest-list":"`)
			list, _, _ = strings.Cut(after, `"`)
			if _, err := cat.metadata.Stat(ctx, metadataio.CanonicalURL(list)); err != nil {
				t.Errorf("%s: before it is sent: %v", name, err)
			}
			if c.err != nil {
				return nil, "", fmt.Errorf("by a test: %w", c.err)
			}
			return real()
		}}
		property := table.NewSetPropertiesUpdate(iceberg.Properties{"a": "b"})
		_, _, err := tbl.send(ctx, nil, []table.Update{property})
		if !errors.Is(err, c.err) || list == "" {
			t.Errorf("%s: %v, manifest list %q", name, err, list)
			continue
		}
		if _, err := cat.metadata.Stat(ctx, metadataio.CanonicalURL(list)); (err != nil) != c.goes {
			t.Errorf("%s: %s: %v", name, list, err)
		}
	}
}

// TestSnapshotOfJob: the snapshot of a job is that in the history of the branch, whoever made it, else the one with the id that this run gave it: one that
// was rolled back, or lies on another branch.
func TestSnapshotOfJob(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	var ids []int64
	for i, job := range []string{"first", "second", "third"} {
		done, err := appendFake(tbl, job, i)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, done.SnapshotID)
	}
	if err := tbl.Rollback(context.Background(), ids[1]); err != nil {
		t.Fatal(err)
	}
	meta := tbl.ice.Metadata()
	for name, c := range map[string]struct {
		branch, job string
		id, want    int64 // 0: none
	}{
		"of this run":                {"", "first", ids[0], ids[0]},
		"of another run":             {"", "second", 1, ids[1]},
		"on main by its name":        {table.MainBranch, "first", 1, ids[0]},
		"rolled back":                {"", "third", ids[2], ids[2]},
		"rolled back, another run's": {"", "third", 1, 0},
		"on another branch":          {"no such branch", "first", ids[0], ids[0]},
		"nowhere":                    {"", "fourth", 1, 0},
		"in the history and another": {"", "first", ids[1], ids[0]},
	} {
		got := int64(0)
		if s := snapshotOfJob(meta, c.branch, c.job, c.id); s != nil {
			got = s.SnapshotID
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
