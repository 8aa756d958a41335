package faultwalk

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// shared are the commands whose appends share a snapshot, as those of one service do.
var shared = []command{{name: "appends that share a snapshot", shared: true, run: appendShared,
	after: grown(len(sharedFiles), slices.Concat(ingested(300), ingested(400), ingested(500))),
	between: func(s state) bool { // each of them is there as a whole or not at all
		rows := s.tables[flights.String()]
		for _, first := range []int{300, 400, 500} {
			n := 0
			for _, row := range ingested(first) {
				if slices.Contains(rows, row) {
					n++
				}
			}
			if n != 0 && n != 20 {
				return false
			}
		}
		return len(rows) == 20*s.shards[flights.String()]
	}}}

// sharedFiles are the files of the appends.
var sharedFiles = []string{"land/d.ndjson", "land/e.ndjson", "in/over.ndjson"}

func appendShared(r *session) error {
	done := make([]bool, len(sharedFiles))
	var appends []func() error
	for i, name := range sharedFiles {
		appends = append(appends, func() error {
			return onFlights(r, func(t *catalog.Table) error {
				src, err := r.source(fileio.SourceOptions{Schema: t.Schema()}, name)
				if err != nil {
					return err
				}
				defer src.Close()
				_, err = t.Ingest(r.ctx, src, catalog.IngestOptions{JobID: fmt.Sprint(r.job, "-", i), ShardRows: 20, StripeRows: 15, ShareCommit: true})
				done[i] = err == nil
				return err
			})
		})
	}
	err := errors.Join(r.hold.Run(r.tables, appends...)...)
	for i, rows := range [][]string{ingested(300), ingested(400), ingested(500)} {
		if done[i] {
			r.added = append(r.added, rows...)
		}
	}
	return err
}

// checkShared expects a snapshot of several appends.
func (w *world) checkShared(t *testing.T) {
	t.Helper()
	r := w.session(t, w.store.straight)
	defer r.close()
	err := onFlights(r, func(tbl *catalog.Table) error {
		if !slices.ContainsFunc(tbl.History(), func(s catalog.Snapshot) bool { return len(s.MoreJobIDs) > 0 }) {
			return errors.New("no snapshot has several appends")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
