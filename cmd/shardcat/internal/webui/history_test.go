package webui

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// TestChartsOutliveARestart: samples are read from the vault by another process, replicas count once, old records are deleted, and what is
// damaged is left out.
func TestChartsOutliveARestart(t *testing.T) {
	g := newGround(t, Options{})
	c, now := g.table.Catalog(), time.Now().UTC().Truncate(time.Second)
	status := func(shards, rounds int64) []compaction.TableStatus {
		return []compaction.TableStatus{
			{Table: catalog.Name{Namespace: "default", Table: "t"}, Measured: true, Shards: shards, Bytes: 1 << 20, Rounds: rounds},
			{Table: catalog.Name{Namespace: "default", Table: "new"}, Shards: 99},
		}
	}
	var first history
	for i := range 4 {
		r, ok := first.take(status(int64(10*i), int64(i+1)), map[string]int64{"default.t": int64(i / 2)}, now.Add(time.Duration(i-4)*time.Hour))
		if !ok || r.Total.Runs != 1 || r.Total.Shards != int64(10*i) {
			t.Fatalf("%+v", r)
		}
		first.add(r)
		if err := first.write(t.Context(), c, r); err != nil {
			t.Fatal(err)
		}
		if i == 3 { // another replica, at nearly the same time
			r.Time = r.Time.Add(time.Minute)
			if err := new(history).write(t.Context(), c, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	folder := c.Vault() + chartsFolder
	old := now.Add(-chartsKept-time.Hour).Format(sampleTime) + "-old.json"
	for name, text := range map[string]string{old: `{"version":1}`, now.Format(sampleTime) + "-damaged.json": "{"} {
		if err := c.Client().Put(t.Context(), folder+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var second history
	for range 2 { // what is known is not read again
		if err := second.read(t.Context(), c, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(second.samples) != 5 {
		t.Fatalf("%d samples", len(second.samples))
	}
	if _, err := c.Client().Stat(t.Context(), folder+old); err == nil {
		t.Error("the old record is there")
	}
	charts := second.chartsOf("default.t")
	if len(charts) != 5 || charts[0].Most != "30" || strings.Count(charts[0].Points, " ") != 3 || charts[3].Last != "2" || charts[4].Most != "1" {
		t.Errorf("%+v", charts)
	}
	if second.chartsOf("default.new") != nil {
		t.Error("a chart of a table without samples")
	}
}

// TestChecksOnThePage: a verification and the dry run of a repair change nothing and report what they found.
func TestChecksOnThePage(t *testing.T) {
	g := newGround(t, Options{Token: token})
	bearer := map[string]string{"Authorization": "Bearer " + token}
	for range 2 {
		code, text, _ := g.ask(t, "POST", "/tables/default.t/verify", bearer, url.Values{})
		if code != 200 || !strings.Contains(text, "No fault in 3 snapshots") {
			t.Fatalf("%d: %s", code, text)
		}
	}
	root := ""
	for e, err := range g.table.Entries(t.Context(), catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		root = e.Path
	}
	if err := g.table.Catalog().Client().Delete(t.Context(), root, ""); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"verify": "fault", "repair-dry-run": "1 shard would be repaired, 1 row would be lost"} {
		code, text, _ := g.ask(t, "POST", "/tables/default.t/"+path, bearer, url.Values{})
		if code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d: %s", path, code, text)
		}
		if code, _, _ := g.ask(t, "POST", "/tables/default.t/"+path, nil, url.Values{}); code != 403 && code != 401 {
			t.Errorf("%s without the token: %d", path, code)
		}
	}
	if tbl, err := g.table.Catalog().Load(t.Context(), g.table.Name()); err != nil || tbl.Describe().Shards != 3 {
		t.Error(fmt.Sprint("the table was changed: ", err))
	}
}
