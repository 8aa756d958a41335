package faultwalk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// side is a branch, and the table that some commands leave or make.
const side = "side"

var renamed = catalog.Name{Namespace: flights.Namespace, Table: "renamed"}

// sameState is the state of a command whose change is none that the ledger has.
func sameState(s state) state { return s }

// changes are the commands that change tables in other ways than by rows.
var changes = []command{
	{name: "repair, dropping a shard", deletes: true, damaged: true, prepare: damagedBy(loseRoot), prepared: broken, run: repair, after: func(s state) state {
		s.tables[flights.String()], s.shards[flights.String()] = slices.Concat(printed(100, 20), printed(200, 20)), 2
		slices.Sort(s.tables[flights.String()])
		return mended(s)
	}},
	{name: "repair, dropping a stripe", deletes: true, damaged: true, prepare: damagedBy(flipStripe), prepared: broken, run: repair, after: func(s state) state {
		s.tables[flights.String()] = slices.Concat(printed(15, 5), printed(100, 20), printed(200, 20))
		slices.Sort(s.tables[flights.String()])
		return mended(s)
	}},
	{name: "branch", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { _, err := t.CreateBranch(r.ctx, side, t.Head()); return err })
	}, again: []error{catalog.ErrExists}, after: hasSide},
	{name: "ingest --ref", prepare: branched, prepared: hasSide, run: ingestAside, after: noting("side=3", "side=5")},
	{name: "drop-ref", prepare: branched, prepared: hasSide, run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.DropRef(r.ctx, side) })
	}, again: []error{catalog.ErrNotFound}, after: func(s state) state { return noting("side=3", "side=0")(noting("[main side]", "[main]")(s)) }},
	{name: "fast-forward", prepare: aside, prepared: grownAside, run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			_, err := t.FastForward(r.ctx, "main", catalog.At{Ref: side})
			return err
		})
	}, after: grown(2, landed())},
	{name: "cherry-pick", prepare: func(r *session) error {
		return errors.Join(aside(r), register(r)) // main moves on, so that no fast-forward would do
	}, prepared: func(s state) state { return grown(2, append(ingested(0), ingested(0)...))(grownAside(s)) }, run: cherryPick,
		after: grown(2, landed())},
	{name: "index add keys", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			_, err := t.AddKeyIndex(r.ctx, "keys:id", catalog.IndexOptions{})
			return err
		})
	}, after: noting("keys=", "keys=1"), between: hasNote("keys=1")},
	{name: "index update keys", prepare: keyIndexed, prepared: noting("keys=", "keys=1"), run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { _, err := t.UpdateKeyIndexes(r.ctx); return err })
	}, after: sameState, either: true},
	{name: "ingest with key index", prepare: func(r *session) error {
		return errors.Join(keyIndexed(r), onFlights(r, func(t *catalog.Table) error { _, err := t.UpdateKeyIndexes(r.ctx); return err }))
	}, prepared: noting("keys=", "keys=1"), run: upsertRows, after: grown(2, landed())},
	{name: "index drop keys", prepare: keyIndexed, prepared: noting("keys=", "keys=1"), run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.DropKeyIndex(r.ctx, "keys:id") })
	}, again: []error{catalog.ErrNotFound}, after: noting("keys=1", "keys=")},
	{name: "index build", prepare: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			return t.SetProperties(r.ctx, map[string]string{catalog.IndexesProperty: "hash:name"}, nil)
		})
	}, prepared: noting("indexes=", "indexes=hash:name"), run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { _, err := t.BuildIndexes(r.ctx, catalog.IndexOptions{}); return err })
	}, after: sameState, either: true},
	{name: "index drop", prepare: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return addIndex(r, t) })
	}, prepared: noting("indexes=", "indexes=hash:name"), run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			_, err := t.DropIndex(r.ctx, "hash:name", catalog.IndexOptions{})
			return err
		})
	}, again: []error{catalog.ErrNotFound}, between: hasNote("indexes= "), after: noting("indexes=hash:name", "indexes=")},
	{name: "undrop", deletes: true, prepare: dropFlights, prepared: withoutFlights, run: func(r *session) error {
		_, err := r.tables.Undrop(r.ctx, flights)
		return err
	}, unlisted: []error{catalog.ErrNotFound}, again: []error{catalog.ErrExists, catalog.ErrNotFound}, after: restored, either: true},
	{name: "recover", deletes: true, prepare: dropFlights, prepared: withoutFlights, run: func(r *session) error {
		at, _, err := r.client.ReadAll(r.ctx, r.url(metadataNote), 1<<10)
		if err != nil {
			return err
		}
		_, err = r.tables.Recover(r.ctx, string(at), catalog.RecoverOptions{As: flights})
		return err
	}, again: []error{catalog.ErrExists}, after: restored, either: true},
	{name: "gc of a dropped table", deletes: true, prepare: dropFlights, prepared: withoutFlights, run: func(r *session) error {
		_, err := r.tables.CollectDropped(r.ctx, catalog.CollectOptions{Execute: true, MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1})
		return err
	}, after: sameState, either: true, again: []error{catalog.ErrConflict}, // a run that could not release its lease
		unlisted: []error{catalog.ErrUnsafe}}, // a list after the deletions shows an object that those before left out
	{name: "rename", run: func(r *session) error { _, err := r.tables.Rename(r.ctx, flights, renamed); return err },
		again: []error{catalog.ErrNotFound}, after: func(s state) state {
			s.tables[renamed.String()], s.shards[renamed.String()] = s.tables[flights.String()], s.shards[flights.String()]
			return withoutFlights(s)
		}},
	{name: "alter, add a column", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.AddColumn(r.ctx, "note", node("note: string")) })
	}, again: []error{catalog.ErrExists, catalog.ErrInvalid}, after: func(s state) state {
		return withRows(noting(" tags]", " tags note]")(s), func(row string) string { return strings.TrimSuffix(row, "}") + `,"note":null}` })
	}},
	{name: "alter, drop a column", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.DropColumn(r.ctx, "tags") })
	}, again: []error{catalog.ErrNotFound, catalog.ErrInvalid}, after: func(s state) state {
		s.tables[flights.String()] = withoutTags(s.tables[flights.String()])
		return noting(" tags]", "]")(s)
	}},
	{name: "alter, require a column", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.RequireColumn(r.ctx, "id") })
	}, after: noting("required=[]", "required=[id]")},
	{name: "alter, partition", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.Repartition(r.ctx, []string{"day(at)"}) })
	}, after: noting("spec=0", "spec=1")},
	{name: "alter, sort", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.SortBy(r.ctx, []catalog.OrderKey{{Column: "id"}}) })
	}, after: noting("order=0", "order=1")},
	{name: "policy set of a namespace", run: func(r *session) error {
		return r.tables.SetNamespaceProperties(r.ctx, flights.Namespace, map[string]string{"owner": "ops"}, nil)
	}, after: noting("namespace=", "namespace=ops"), either: true},
	{name: "retain", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			_, err := t.DropOlder(r.ctx, time.Nanosecond, catalog.DeleteOptions{JobID: r.job})
			return err
		})
	}, after: func(s state) state { s.tables[flights.String()], s.shards[flights.String()] = nil, 0; return s }},
	{name: "job discard", deletes: true, prepare: writtenByTasks, prepared: sameState, run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { _, err := t.DiscardShards(r.ctx, "prepare"); return err })
	}, after: sameState, either: true},
	{name: "discard of a compaction", deletes: true, prepare: writtenByCompaction, prepared: sameState, run: discardCompaction, after: sameState, either: true,
		again: []error{catalog.ErrNotFound}},
	{name: "recover of a living table", deletes: true, prepare: noteEarlier, prepared: grown(2, landed()), run: recoverLiving, after: sameState},
	{name: "ingest, file by file", run: ingestFiles, after: grown(2, landed()), between: func(s state) bool { return s.shards[flights.String()] == 4 }},
}

// node is a column by its specification.
func node(spec string) *schema.Node {
	s, err := schema.Parse(spec)
	if err != nil {
		panic(err) // specifications are constants
	}
	return s.Fields[0]
}

// withRows changes each row of the table.
func withRows(s state, change func(string) string) state {
	rows := slices.Clone(s.tables[flights.String()])
	for i, row := range rows {
		rows[i] = change(row)
	}
	s.tables[flights.String()] = rows
	return s
}

const damageNote = " damaged"

// broken is the table while verification finds damage in it.
func broken(s state) state {
	s.tables[flights.String()] = nil
	s.notes[flights.String()] += damageNote
	return s
}

func mended(s state) state {
	s.notes[flights.String()] = strings.TrimSuffix(s.notes[flights.String()], damageNote)
	return s
}

// repair drops what can't be read any more.
func repair(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		done, err := t.Repair(r.ctx, catalog.RepairOptions{AcceptLoss: true})
		if err == nil && slices.ContainsFunc(done.Repairs, func(x catalog.Repair) bool { return x.Action == catalog.RepairNone }) {
			err = fmt.Errorf("%w: %+v", errDamage, done)
		}
		return err
	})
}

// damagedBy damages the shard of the first rows.
func damagedBy(damage func(r *session, root string) error) func(*session) error {
	return func(r *session) error {
		where, err := filter.Parse("id < 20")
		if err != nil {
			return err
		}
		return onFlights(r, func(t *catalog.Table) error {
			whole, _, err := t.Matcher(where)
			if err != nil {
				return err
			}
			var first *manifest.Entry
			for e, err := range t.Entries(r.ctx, catalog.At{}) {
				if err != nil {
					return err
				}
				if whole(e) {
					first = e
				}
			}
			if first == nil {
				return errors.New("no shard has the first rows alone")
			}
			return damage(r, first.Path)
		})
	}
}

func loseRoot(r *session, root string) error { return r.client.Delete(r.ctx, root, "") }

// flipStripe flips a bit of a block of values in the first stripe of a shard.
func flipStripe(r *session, root string) error {
	x, err := inspect.Shard(r.ctx, r.client, root, inspect.Options{Detail: inspect.Blocks})
	if err != nil {
		return err
	}
	buffer := x.Fields["id"].Stripes[0].Encodings[0].Buffers[0]
	at := root[:strings.LastIndexByte(root, '/')+1] + buffer.URL // relative to the root
	text, _, err := r.client.ReadAll(r.ctx, at, 1<<20)
	if err != nil {
		return err
	}
	text[buffer.Start+buffer.Size/2] ^= 1
	return errors.Join(r.client.Delete(r.ctx, at, ""), r.client.Put(r.ctx, at, text))
}

// branched makes a branch at the head.
func branched(r *session) error {
	return onFlights(r, func(t *catalog.Table) error { _, err := t.CreateBranch(r.ctx, side, t.Head()); return err })
}

func ingestAside(r *session) error {
	return landing(r, func(t *catalog.Table, src fileio.Source) error {
		_, err := t.Ingest(r.ctx, src, catalog.IngestOptions{JobID: r.job, Ref: side, ShardRows: 20, StripeRows: 15})
		return err
	})
}

// aside makes a branch with rows of its own.
func aside(r *session) error { return errors.Join(branched(r), ingestAside(r)) }

// hasSide is the table with a branch at its head.
func hasSide(s state) state { return noting("side=0", "side=3")(noting("[main]", "[main side]")(s)) }

func grownAside(s state) state { return noting("side=3", "side=5")(hasSide(s)) }

func cherryPick(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		for _, ref := range t.Refs() {
			if ref.Name == side {
				_, err := t.CherryPick(r.ctx, ref.SnapshotID)
				return err
			}
		}
		return fmt.Errorf("%w: no branch %s", catalog.ErrNotFound, side)
	})
}

// keyIndexed gives the table a key index that covers nothing yet.
func keyIndexed(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		_, err := t.AddKeyIndex(r.ctx, "keys:id", catalog.IndexOptions{NewShardsOnly: true})
		return err
	})
}

// metadataNote is an object that holds the location of the last metadata file of a dropped table.
const metadataNote = "in/metadata.txt"

func dropFlights(r *session) error {
	err := onFlights(r, func(t *catalog.Table) error {
		return r.client.Put(r.ctx, r.url(metadataNote), []byte(t.MetadataLocation()))
	})
	return errors.Join(err, r.tables.Drop(r.ctx, flights))
}

// restored is the state with the table as it is in each world.
func restored(s state) state {
	s.tables[flights.String()], s.shards[flights.String()] = slices.Concat(printed(0, 20), printed(100, 20), printed(200, 20)), 3
	slices.Sort(s.tables[flights.String()])
	s.notes[flights.String()] = "[id at name delay tags] [main] old=true owner= indexes= keys= namespace= order=0 spec=0 required=[] side=0"
	return s
}

func withoutFlights(s state) state {
	delete(s.tables, flights.String())
	delete(s.shards, flights.String())
	delete(s.notes, flights.String())
	return s
}

// writtenByTasks leaves shards that no commit names.
func writtenByTasks(r *session) error {
	return landing(r, func(t *catalog.Table, src fileio.Source) error {
		_, err := t.WriteShards(r.ctx, src, "part", catalog.IngestOptions{JobID: r.job, ShardRows: 20, StripeRows: 15})
		return err
	})
}

func ingestFiles(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		var files []catalog.InputFile
		for _, name := range land {
			info, err := r.client.Stat(r.ctx, r.url(name))
			if err != nil {
				return err
			}
			files = append(files, catalog.InputFile{URL: info.URL, Size: info.Size})
		}
		_, err := t.IngestFiles(r.ctx, files, catalog.FilesOptions{PartFiles: 1, Workers: 1,
			Ingest: catalog.IngestOptions{JobID: r.job, ShardRows: 20, StripeRows: 15},
			Open: func(ctx context.Context, part []catalog.InputFile) (catalog.FileSource, error) {
				urls := make([]string, len(part))
				for i, file := range part {
					urls[i] = file.URL
				}
				return fileio.OpenSource(ctx, r.client, urls, fileio.SourceOptions{Schema: t.Schema()})
			}})
		return err
	})
}

// discardCompaction discards the compaction that an earlier process has left, if it is open.
func discardCompaction(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		open, err := t.OpenCompactions(r.ctx)
		for _, j := range open {
			err = errors.Join(err, t.DiscardJob(r.ctx, j.Name()))
		}
		return err
	})
}

// noteEarlier notes the location of a metadata file of before the table's last commit.
func noteEarlier(r *session) error {
	err := onFlights(r, func(t *catalog.Table) error {
		return r.client.Put(r.ctx, r.url(metadataNote), []byte(t.MetadataLocation()))
	})
	return errors.Join(err, ingestInto(r, flights, false, land...))
}

// recoverLiving recovers an earlier state of a table that stands in the catalog, which must be refused.
func recoverLiving(r *session) error {
	at, _, err := r.client.ReadAll(r.ctx, r.url(metadataNote), 1<<10)
	if err != nil {
		return err
	}
	switch _, err = r.tables.Recover(r.ctx, string(at), catalog.RecoverOptions{As: flights}); {
	case err == nil:
		return fmt.Errorf("%w: the table went back to an earlier state", errDamage)
	case errors.Is(err, catalog.ErrExists):
		return nil
	}
	return err
}
