package catalog

import (
	"context"
	"errors"
	"iter"

	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/manifest"
)

// keyIndexes checks the table's key indexes: what each covers, and its levels; of those that the subset has every byte, and
// the rows of the shards that the subset has.
func (v *tableVerifier) keyIndexes(ctx context.Context) error {
	for _, def := range v.table.keyIndexDefs() {
		if def.Object == "" {
			continue // nothing is indexed yet
		}
		if err := v.keyIndex(ctx, def); err != nil {
			return err
		}
	}
	return nil
}

func (v *tableVerifier) keyIndex(ctx context.Context, def keyindex.Def) error {
	t := v.table
	url := t.VaultFolder() + def.Object
	v.out.Objects++
	x, err := t.keyIndexFolder(v.client).Open(ctx, t.schema, def)
	if errors.Is(err, manifest.ErrSchema) { // until the next update, and not used before
		v.out.Warnings = append(v.out.Warnings, url+": "+err.Error())
		return nil
	}
	if err != nil {
		return v.unreadable(err, faultPlace{kind: faultIndex, object: url})
	}
	var files []*keyindex.File
	for i := range x.State.Levels {
		l := &x.State.Levels[i]
		url := t.VaultFolder() + l.Object
		v.out.Objects++
		f, err := x.State.OpenLevel(ctx, v.client, url, l)
		if err != nil {
			if err := v.unreadable(err, faultPlace{kind: faultIndex, object: url}); err != nil {
				return err
			}
			continue
		}
		files = append(files, f)
		if !v.o.Data.has(url) {
			continue
		}
		r, err := f.Verify(ctx)
		if err != nil {
			if err := v.unreadable(err, faultPlace{kind: faultIndex, object: url}); err != nil {
				return err
			}
			continue
		}
		for _, e := range r.Errors {
			v.found(faultPlace{kind: faultIndex, object: url}, e.Offset, "%s", e.What)
		}
		v.out.Bytes += r.Bytes
		v.out.UnprotectedBytes += r.UnprotectedBytes
	}
	if len(files) < len(x.State.Levels) {
		return nil // which levels lack rows because they can't be read is reported
	}
	return v.keyRows(ctx, x, files, url)
}

// keyRows makes the rows of the key index again from the keys of those covered shards that the subset has, and finds rows that the index
// lacks: an upsert would double their keys, and scans lose them.
func (v *tableVerifier) keyRows(ctx context.Context, x *keyindex.Index, files []*keyindex.File, url string) error {
	b := &keyIndexBuild{table: v.table, key: x.Key, def: x.Def, old: x, done: &KeyIndexResult{}}
	wanted := map[uint32]string{} // the shard of each stripe
	for _, ref := range v.table.Refs() {
		for e, err := range v.table.Entries(ctx, At{Ref: ref.Name}) {
			if err != nil {
				return err
			}
			units, ok := x.Covers(e)
			if !ok || !v.o.Data.has(e.Path) {
				continue
			}
			read := stripesToRead{entry: e, stripes: map[int]uint32{}}
			for stripe, u := range units {
				if wanted[u] == "" {
					wanted[u], read.stripes[stripe] = e.Path, u
				}
			}
			if len(read.stripes) > 0 {
				b.read = append(b.read, read)
			}
		}
	}
	if len(b.read) == 0 {
		return nil
	}
	made := keyindex.NewBuilder()
	defer made.Close()
	if _, err := b.readKeys(ctx, made); err != nil {
		return v.unreadable(err, faultPlace{kind: faultIndex, object: url})
	}
	sources := make([]iter.Seq2[[]byte, error], len(files))
	for i, f := range files {
		sources[i] = f.All(ctx)
	}
	have := keyindex.Merge(sources, func(u uint32) bool { return wanted[u] != "" })
	n, first, err := keyindex.Missing(have, made.Sorted())
	if err != nil {
		return v.unreadable(err, faultPlace{kind: faultIndex, object: url})
	}
	if n > 0 {
		v.found(faultPlace{kind: faultIndex, object: url}, -1, "the index lacks %d rows that it covers, the first is record %d of a stripe of %s: drop the index and add it again", n, first.Row, wanted[first.Unit])
	}
	return nil
}
