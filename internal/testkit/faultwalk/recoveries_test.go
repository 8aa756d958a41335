package faultwalk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// extra is a namespace that some commands make and drop.
const extra = "extra"

var onREST, notOnREST = new(true), new(false)

// recoveries are the commands that take up what others left, and those of namespaces.
var recoveries = []command{
	{name: "drop --purge", rest: onREST, run: func(r *session) error { return r.tables.Purge(r.ctx, flights) }, again: []error{catalog.ErrNotFound}, after: withoutFlights},
	{name: "recover --all", deletes: true, prepare: func(r *session) error { return errors.Join(dropFlights(r), loseDrop(r)) }, prepared: withoutFlights, run: recoverAll,
		after: restored, either: true},
	{name: "recover --all of a catalog that is behind", deletes: true, rest: notOnREST, prepare: fallBehind, prepared: sameState, run: recoverAll,
		after: grown(2, landed()), either: true},
	{name: "recover --all --take-over", deletes: true, prepare: func(r *session) error { return errors.Join(dropFlights(r), loseDrop(r)) }, prepared: withoutFlights,
		run: func(r *session) error { return recoverTables(r, true) }, after: restored, either: true},
	{name: "resume of a compaction", deletes: true, prepare: writtenByCompaction, prepared: sameState, run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			done, err := compaction.ResumeAll(r.ctx, t, compaction.Policy{}, compaction.Options{Check: true})
			if err == nil && len(done) > 1 {
				err = fmt.Errorf("%w: %d compactions resumed, there was one", errDamage, len(done))
			}
			return err
		})
	}, after: func(s state) state { s.shards[flights.String()] = 1; return s }, either: true,
		hidden: sameState}, // a job that is no longer to be resumed, as it seems
	{name: "job commit", prepare: func(r *session) error { return errors.Join(writtenByTasks(r), noteRuns(r)) }, prepared: sameState, run: func(r *session) error {
		runs, _, err := r.client.ReadAll(r.ctx, r.url(runsNote), 1<<10)
		if err != nil {
			return err
		}
		return onFlights(r, func(t *catalog.Table) error {
			_, err := t.CommitShards(r.ctx, "", "prepare", strings.Fields(string(runs)))
			return err
		})
	}, after: grown(2, landed())},
	{name: "namespace list", run: func(r *session) error {
		names, err := r.tables.Namespaces(r.ctx)
		r.out = append(r.out, fmt.Sprint(names))
		return err
	}},
	{name: "namespace create", run: func(r *session) error { return r.tables.CreateNamespace(r.ctx, extra) }, after: hasExtra, either: true},
	{name: "namespace drop", deletes: true, prepare: func(r *session) error { return r.tables.CreateNamespace(r.ctx, extra) }, prepared: hasExtra,
		run: func(r *session) error { return r.tables.DropNamespace(r.ctx, extra) }, again: []error{catalog.ErrNotFound},
		after: func(s state) state { s.notes[namespacesNote] = "[default]"; return s }, either: true},
	{name: "policy unset of a namespace", prepare: func(r *session) error {
		return r.tables.SetNamespaceProperties(r.ctx, flights.Namespace, map[string]string{"owner": "ops"}, nil)
	}, prepared: noting("namespace=", "namespace=ops"), run: func(r *session) error {
		return r.tables.SetNamespaceProperties(r.ctx, flights.Namespace, nil, []string{"owner"})
	}, after: noting("namespace=ops", "namespace="), either: true},
}

func hasExtra(s state) state {
	s.notes[namespacesNote] = "[default extra]"
	return s
}

// loseDrop deletes the records of a drop: the catalog has lost the table, as a database that was restored from an old copy has.
func loseDrop(r *session) error {
	dropped, err := r.tables.Dropped(r.ctx)
	if err != nil {
		return err
	}
	for _, d := range dropped {
		for _, at := range []string{r.tables.Vault() + "/" + d.TableUUID + "/_dropped.json", r.tables.Vault() + "/_dropped/" + d.TableUUID + ".json"} {
			if err := r.client.Delete(r.ctx, at, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

// fallBehind leaves a catalog that shows the table as it was before its last commit.
func fallBehind(r *session) error {
	before := ""
	err := onFlights(r, func(t *catalog.Table) error { before = t.MetadataLocation(); return nil })
	err = errors.Join(err, ingestInto(r, flights, false, land...), dropFlights(r), loseDrop(r))
	if err != nil {
		return err
	}
	_, err = r.tables.Recover(r.ctx, before, catalog.RecoverOptions{As: flights})
	return err
}

func recoverAll(r *session) error { return recoverTables(r, false) }

func recoverTables(r *session, takeOver bool) error {
	_, err := r.tables.RecoverAll(r.ctx, takeOver)
	return err
}

// runsNote is an object that holds the runs that a job wrote.
const runsNote = "in/runs.txt"

func noteRuns(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		open, err := t.Jobs(r.ctx, false)
		var runs []string
		for _, j := range open {
			runs = append(runs, j.Name())
		}
		return errors.Join(err, r.client.Put(r.ctx, r.url(runsNote), []byte(strings.Join(runs, "\n"))))
	})
}

// writtenByCompaction leaves a compaction that has written all its objects, and whose process ended before it committed.
func writtenByCompaction(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		plan, err := compaction.NewPlan(r.ctx, t, compaction.Policy{})
		if err != nil || len(plan.Groups) != 1 {
			return errors.Join(err, fmt.Errorf("%d groups", len(plan.Groups)))
		}
		j, err := compaction.Begin(r.ctx, t, &plan.Groups[0], compaction.Policy{}, compaction.Options{})
		if err != nil {
			return err
		}
		return j.Write(r.ctx)
	})
}
