package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/urlresolve"
)

// registerCopies copies shards into the table's vault folder and commits the copies: bytes move as they are, nothing is decoded.
// The originals may go afterwards.
func (t *Table) registerCopies(ctx context.Context, urls []string, o RegisterOptions) (*RegisterResult, error) {
	j, before, err := t.BeginJob(ctx, jobRegister, o.JobID, nil, t.Outputs)
	if before != nil || err != nil {
		return &RegisterResult{CommitResult: before}, err
	}
	out, shards, objects := &RegisterResult{}, make([]*described, len(urls)), make([]string, 0, 2*len(urls))
	copies := make([]copying, len(urls))
	for i := range copies {
		name := fmt.Sprintf("%s-%04d", j.Attempt(), i+1)
		copies[i] = copying{from: urls[i], root: t.VaultFolder() + name + ".amudai.shard",
			data: t.VaultFolder() + "data/" + name + "/copied.amudai.stripe"}
		objects = append(objects, copies[i].root, copies[i].data)
	}
	err = t.cat.client.Each(ctx, len(urls), func(ctx context.Context, branch *blobio.Client, i int) (err error) {
		shards[i], err = t.copyIn(ctx, branch, &copies[i], o)
		if err == nil && o.Progress != nil {
			o.Progress()
		}
		return err
	})
	if err == nil {
		out.CommitResult, err = j.Append(ctx, entriesFor(shards))
	}
	if err != nil {
		j.Fail(ctx, objects)
		return nil, err
	}
	for _, d := range shards {
		out.add(d)
	}
	return out, nil
}

// copying names a shard and the two objects of its copy.
type copying struct{ from, root, data string }

// copyIn copies one shard and describes the copy from what the store gives back.
func (t *Table) copyIn(ctx context.Context, client *blobio.Client, c *copying, o RegisterOptions) (*described, error) {
	from, err := client.Mount(ctx, c.from)
	if err != nil {
		return nil, err
	}
	folder, err := urlresolve.Base(from)
	if err != nil {
		return nil, err
	}
	d, err := t.describe(ctx, client, from, folder, o)
	if err != nil {
		return nil, err
	}
	is := d.entry
	input := merge.Input{URL: from, Size: is.RootBytes}
	if is.Flags.Has(manifest.Foreign) {
		input.FieldIDs = d.ids
	}
	near, err := prefixes([]string{folder})
	if err != nil {
		return nil, err
	}
	options := merge.Options{AllowExternal: true, AllowStandard: true, Policy: urlresolve.Policy{Allow: append(near, o.Allow...)}}
	made, err := merge.Pack(ctx, client, c.root, []merge.Input{input}, merge.PackOptions{Object: c.data, Options: options, Copy: true})
	if errors.Is(err, merge.ErrNothingToPack) { // no data at all, or none that can be copied
		made, err = merge.Concat(ctx, client, c.root, []merge.Input{input}, options)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	e, err := t.describeOwn(ctx, c.root, int64(len(made.Root)))
	if err != nil {
		return nil, err
	}
	switch {
	case e.Records != is.Records:
		return nil, fmt.Errorf("%s: %d live records, %d copied", from, is.Records, e.Records)
	case e.Objects > 2:
		return nil, fmt.Errorf("%w: %s refers to %d whole objects (external Parquet); register it in place", ErrUnsafe, from, e.Objects-1)
	}
	e.SpecID, e.Partition = is.SpecID, is.Partition
	d.entry = e
	return d, nil
}
