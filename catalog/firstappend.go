package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/manifest"
)

// A table that is made for its first rows comes into being with them: the catalog gets one commit, which must find
// no table of that name, and which holds the schema, the partition spec, the properties and the first snapshot.
// Until then the table is a folder under a name that nobody else knows, and a failure takes that folder away.
//
// Of several that make one table at a time, one wins. What the others wrote lies in folders of tables that will
// never be; a shard refers to its objects by relative names, so its objects are copied as they are into the folder
// of the table that won and appended there, if both tables have the same columns.

// creation is a table that is not in the catalog yet.
type creation struct {
	// updates make the table without its first snapshot.
	updates         []table.Update
	createNamespace bool
	// options to create the table by a request of its own, where the catalog knows no other way.
	options CreateOptions
	// location is the folder of its Iceberg metadata.
	location string
}

// IngestNew creates a table with the schema of a source and lands its records there, in one commit; if anything
// fails, no table is left. o.Schema, if not nil, takes the place of the source's. A table that is there is
// ErrExists. One that another writer makes meanwhile gets the rows if it has the same columns; otherwise the error
// is ErrConflict, and delivering again finds the table.
func (c *Catalog) IngestNew(ctx context.Context, name Name, src RecordSource, create CreateOptions, o IngestOptions) (*Table, *IngestResult, error) {
	if create.Schema == nil {
		create.Schema = src.Schema()
	}
	if len(create.Schema.Fields) == 0 {
		return nil, nil, fmt.Errorf("%w: table %s would have no columns: the input is empty; give a schema", ErrInvalid, name)
	}
	if c.warehouse == "" || create.Location != "" || o.keyed() {
		return c.createAndIngest(ctx, name, src, create, o)
	}
	t, err := c.plannedTable(ctx, name, create)
	if err != nil {
		return nil, nil, err
	}
	in, err := t.Ingest(ctx, src, o)
	return t, in, err
}

// createAndIngest is IngestNew where only the catalog's server knows where a table lies: the table comes first, and
// goes again if nothing landed in it.
func (c *Catalog) createAndIngest(ctx context.Context, name Name, src RecordSource, create CreateOptions, o IngestOptions) (*Table, *IngestResult, error) {
	t, err := c.Create(ctx, name, create)
	if err != nil {
		return nil, nil, err
	}
	in, err := t.Ingest(ctx, src, o)
	if err == nil {
		return t, in, nil
	}
	if mayBeCommitted(err) {
		return nil, nil, err
	}
	return nil, nil, errors.Join(err, c.dropUnused(context.WithoutCancel(ctx), t))
}

// dropUnused drops a table that was made for rows which could not be delivered, unless somebody has landed rows in it meanwhile. It is loaded twice, for a
// catalog may return an earlier state once.
func (c *Catalog) dropUnused(ctx context.Context, t *Table) error {
	for range 2 {
		there, err := c.ice.LoadTable(ctx, t.name.identifier())
		if err != nil || there.Metadata().TableUUID().String() != t.UUID() || there.CurrentSnapshot() != nil {
			return nil
		}
	}
	err := c.Drop(ctx, t.name)
	if errors.Is(err, blobio.ErrDenied) { // the vault is closed to this run: nothing of the table lies there
		err = translate(c.ice.DropTable(ctx, t.name.identifier()))
	}
	return err
}

// plannedTable is a table that its first append will make.
func (c *Catalog) plannedTable(ctx context.Context, name Name, o CreateOptions) (*Table, error) {
	if _, err := c.ice.LoadTable(ctx, name.identifier()); err == nil {
		return nil, fmt.Errorf("table %s: %w", name, ErrExists)
	} else if err = translate(err); !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	parts, err := c.parts(name, &o)
	if err != nil {
		return nil, err
	}
	made := &creation{createNamespace: o.CreateNamespace, options: o, location: c.newLocation(name)}
	meta, err := made.metadata(parts, caturi.IsREST(c.opts.URI))
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	t := &Table{cat: c, name: name, creation: made}
	return t, t.set(ctx, table.New(name.identifier(), meta, "", c.fs, nil))
}

// metadata are what the table's metadata will be before its first snapshot. Catalogs that keep metadata themselves
// begin with an empty schema, which is taken out again; REST servers begin with nothing.
func (c *creation) metadata(p *tableParts, rest bool) (table.Metadata, error) {
	delete(p.properties, "format-version")
	c.updates = []table.Update{
		table.NewAssignUUIDUpdate(uuid.New()), table.NewUpgradeFormatVersionUpdate(manifest.FormatVersion),
		table.NewSetLocationUpdate(c.location),
		table.NewAddSchemaUpdate(p.schema), table.NewSetCurrentSchemaUpdate(-1),
		table.NewAddPartitionSpecUpdate(p.spec, true), table.NewSetDefaultSpecUpdate(-1),
		table.NewAddSortOrderUpdate(&p.order), table.NewSetDefaultSortOrderUpdate(-1),
		table.NewSetPropertiesUpdate(p.properties),
	}
	if !rest {
		c.updates = append(c.updates, table.NewRemoveSchemasUpdate([]int{0}))
	}
	empty, err := table.NewMetadata(iceberg.NewSchema(0), nil, table.UnsortedSortOrder, "", nil)
	if err != nil {
		return nil, err
	}
	return table.UpdateTableMetadata(empty, c.updates, "")
}

// lostCreation: another writer made the table first. It stands as winner.
type lostCreation struct {
	winner *Table
	// own: the table was made by this run, without its rows (see createOtherwise).
	own bool
}

func (l *lostCreation) Error() string { return "another writer created the table first" }

func (l *lostCreation) Is(target error) bool { return target == ErrConflict }

// tryCreate is try for the commit that makes the table; staged may be nil for a table without rows.
func (t *Table) tryCreate(ctx context.Context, staged *manifest.Staged, jobID string) (found *table.Snapshot, rejected, err error) {
	updates := t.creation.updates
	if staged != nil {
		if caturi.IsREST(t.cat.opts.URI) {
			staged.Snapshot.SchemaID = nil // the server numbers schemas
		}
		updates = append(updates[:len(updates):len(updates)], staged.Updates...)
	}
	if t.creation.createNamespace {
		if err := t.cat.CreateNamespace(ctx, t.name.Namespace); err != nil {
			return nil, nil, err
		}
	}
	made := func(there *table.Table) (*table.Snapshot, error, error) {
		t.creation = nil
		t.takeOver(ctx, there.Metadata(), there.MetadataLocation())
		return findJob(there.Metadata(), "", jobID), nil, nil
	}
	uuid, begin := t.ice.Metadata().TableUUID(), time.Now()
	doubt, sent := false, false // an earlier request may have been carried out; one was answered
	for send := 1; ; send++ {
		meta, at, sendErr := t.cat.ice.CommitTable(ctx, t.name.identifier(), []table.Requirement{table.AssertCreate()}, updates)
		if sendErr == nil && meta != nil && meta.TableUUID() == uuid {
			return made(table.New(t.name.identifier(), meta, at, t.cat.fs, t.cat.ice))
		}
		v := commiterr.ClassOf(sendErr)
		doubt = doubt || v == commiterr.Unknown
		if !doubt && (v == commiterr.Refused && commiterr.NotSent(sendErr) || v == commiterr.Later && !t.cat.attemptsLeft(send, maxSends, begin, sendErr)) {
			if err = t.refusal(sendErr); sent {
				err = &unproven{err}
			}
			return nil, nil, err
		}
		there, err := t.lookForCreation(ctx, doubt)
		if err == nil && !doubt && v != commiterr.Later && (there == nil || there.Metadata().TableUUID() != uuid) && backoff.Wait(ctx, backoff.Unknown(1)) == nil {
			there, err = t.lookForCreation(ctx, doubt) // for the first look may have been answered wrong, as the commit may have been
		}
		switch {
		case there != nil && there.Metadata().TableUUID() == uuid:
			return made(there)
		case there != nil:
			winner := &Table{cat: t.cat, name: t.name}
			lost := errors.Join(&lostCreation{winner: winner}, winner.set(ctx, there))
			if doubt {
				lost = &unproven{lost}
			}
			return nil, nil, lost
		case !doubt && err == nil && (v == commiterr.Bad || v == commiterr.Refused || v == commiterr.Gone):
			if there, err = t.createOtherwise(ctx, sendErr); there != nil {
				return made(there)
			}
			return nil, nil, err
		case !doubt && (v == commiterr.Refused || v == commiterr.Gone):
			return nil, nil, &unproven{t.refusal(sendErr)}
		case doubt && (err != nil || !t.cat.attemptsLeft(send, maxSends, begin, sendErr)):
			return nil, nil, fmt.Errorf("%w: table not found: %w", ErrUnknownOutcome, errors.Join(sendErr, err))
		case err != nil || v != commiterr.Later && !t.cat.attemptsLeft(send, maxSends, begin, sendErr):
			return nil, nil, &unproven{fmt.Errorf("%w: %w", ErrConflict, errors.Join(sendErr, err))}
		}
		sent = sent || v != commiterr.Later
		if err := backoff.Wait(ctx, max(backoff.Unknown(send), commiterr.RequestedPause(sendErr))); err != nil {
			switch {
			case doubt:
				err = fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(err, sendErr))
			case sent:
				err = &unproven{err}
			}
			return nil, nil, err
		}
	}
}

// createOtherwise makes the table empty, by a request of its own, where the catalog refused a commit that makes it together with
// its first rows: Glue, S3 Tables and others know no such commit. The rows are then delivered to that table. It returns the table of the refused commit if
// that was carried out all the same.
func (t *Table) createOtherwise(ctx context.Context, why error) (*table.Table, error) {
	known := (*commiterr.Error)(nil)
	if !caturi.IsREST(t.cat.opts.URI) || !errors.As(why, &known) || !slices.Contains(noFirstCommit, known.Status) || errors.Is(why, icecatalog.ErrNoSuchNamespace) {
		return nil, t.notCreated(ctx, t.refusal(why))
	}
	created, err := t.cat.Create(ctx, t.name, t.creation.options)
	own := err == nil
	if errors.Is(err, ErrExists) {
		created, err = t.cat.Load(ctx, t.name)
	}
	switch {
	case err != nil:
		return nil, t.notCreated(ctx, fmt.Errorf("%w; creating the table without rows: %w", t.refusal(why), err))
	case created.UUID() == t.UUID():
		return created.ice, nil
	}
	return nil, &lostCreation{winner: created, own: own}
}

// notCreated is why, the refusal of a commit that would have made the table: as unproven, unless neither the catalog lists the table nor
// a metadata file is at its location. The files of a table that a gateway refused and its server created must not be deleted.
func (t *Table) notCreated(ctx context.Context, why error) error {
	ctx = context.WithoutCancel(ctx)
	for ident, err := range t.cat.ice.ListTables(ctx, t.name.namespace()) {
		if errors.Is(err, icecatalog.ErrNoSuchNamespace) {
			break
		}
		if err != nil || slices.Equal(ident, t.name.identifier()) {
			return &unproven{errors.Join(why, err)}
		}
	}
	for info, err := range t.cat.metadata.Uncached().List(ctx, t.creation.location+"/") {
		if err != nil || strings.Contains(path.Base(info.URL), ".metadata.json") {
			return &unproven{errors.Join(why, err)}
		}
	}
	return why
}

// noFirstCommit are the statuses by which catalogs refuse a commit to a table that is not there.
var noFirstCommit = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented}

// lookForCreation loads what stands under the table's name after a commit was sent; nil if there is nothing. With doubt, a table of our UUID
// that has another name since is found too.
func (t *Table) lookForCreation(ctx context.Context, doubt bool) (*table.Table, error) {
	asked, ctx := ctx, context.WithoutCancel(ctx)
	begin, err := time.Now(), error(nil)
	for n := 1; n == 1 || t.cat.attemptsLeft(n-1, maxReloads, begin, err) && backoff.Wait(asked, backoff.Unknown(n-1)) == nil; n++ {
		var there *table.Table
		there, err = t.cat.ice.LoadTable(ctx, t.name.identifier())
		missing := errors.Is(err, icecatalog.ErrNoSuchTable) || errors.Is(err, icecatalog.ErrNoSuchNamespace)
		switch {
		case err != nil && !missing:
			continue
		case doubt && (missing || there.Metadata().TableUUID() != t.ice.Metadata().TableUUID()):
			if s := t.lookElsewhere(ctx, err); s.err == nil {
				return t.ice, nil
			}
		}
		return there, nil
	}
	return nil, err
}

// createEmpty makes the table without a snapshot: its source had columns, but no rows.
func (j *Job) createEmpty(ctx context.Context) error {
	_, _, err := j.table.tryCreate(ctx, nil, "")
	j.committing = err != nil && mayBeCommitted(err)
	return err
}

// abandon takes away the folders of a table that was never made.
func (t *Table) abandon(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	remove := func(client *blobio.Client, folder string) {
		for info, err := range client.List(ctx, folder) {
			if err == nil {
				err = client.Delete(ctx, info.URL, "")
			}
			if err != nil && !errors.Is(err, blobio.ErrNotFound) {
				t.cat.opts.Log.Warn("files of a table that was not created could not be deleted", "folder", folder, "error", err)
				return
			}
		}
	}
	remove(t.cat.client, t.VaultFolder())
	remove(t.cat.metadata, t.creation.location+"/")
}

// deliverTo appends the shards of a table that lost its creation to the one that won.
func (w *shardWriters) deliverTo(ctx context.Context, winner *Table) (*IngestResult, error) {
	mine := w.table
	if len(w.entries) == 0 { // no rows came
		return &IngestResult{CommitResult: &CommitResult{SnapshotID: winner.Head()}, Shards: []string{}}, nil
	}
	if !mine.schema.Shard.Equal(winner.schema.Shard) || fmt.Sprint(mine.schema.IDs) != fmt.Sprint(winner.schema.IDs) ||
		!mine.ice.Spec().Equals(winner.ice.Spec()) {
		return nil, fmt.Errorf("%w: table %s was created concurrently by another writer with other columns; ingest again", ErrConflict, mine.name)
	}
	outputs := func(string) []string { return winner.Outputs(w.job.Attempt()) }
	j, before, err := winner.BeginJob(ctx, JobAppend, w.job.ID(), nil, outputs)
	if before != nil || err != nil {
		return &IngestResult{CommitResult: before, Shards: []string{}}, err
	}
	out, copied := &IngestResult{Shards: []string{}}, []string(nil)
	var entries []*manifest.Entry
	for _, object := range w.objects {
		to := winner.VaultFolder() + strings.TrimPrefix(object, mine.VaultFolder())
		if err := copyObject(ctx, mine.cat.client, object, to); err != nil {
			j.Fail(ctx, copied)
			return nil, err
		}
		copied = append(copied, to)
	}
	for _, e := range w.entries {
		moved, err := winner.describeOwn(ctx, winner.VaultFolder()+path.Base(e.Path), e.RootBytes)
		if err != nil {
			j.Fail(ctx, copied)
			return nil, err
		}
		moved.SpecID, moved.Partition, moved.SortOrderID = e.SpecID, e.Partition, winner.orderID(mine.SortOrder())
		entries = append(entries, moved)
		out.Shards, out.Bytes, out.Rows = append(out.Shards, moved.Path), out.Bytes+moved.StoredBytes, out.Rows+moved.Records
	}
	if out.CommitResult, err = j.Append(ctx, entries); err != nil {
		j.Fail(ctx, copied)
		return nil, err
	}
	return out, nil
}

// copyObject copies an object through this machine.
func copyObject(ctx context.Context, client *blobio.Client, from, to string) error {
	r, info, err := client.Open(ctx, from, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := client.Create(ctx, to, blobio.CreateOptions{SizeHint: info.Size})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}
