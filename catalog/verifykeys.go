package catalog

import (
	"context"
	"errors"

	"github.com/shardcat/shardcat/internal/keyindex"
	"github.com/shardcat/shardcat/manifest"
)

// keyIndexes checks the table's key indexes: what each covers, and its levels; of those that the subset has every byte.
func (v *tableVerifier) keyIndexes(ctx context.Context) error {
	for _, def := range v.table.keyIndexDefs() {
		if def.object == "" {
			continue // nothing is indexed yet
		}
		if err := v.keyIndex(ctx, def); err != nil {
			return err
		}
	}
	return nil
}

func (v *tableVerifier) keyIndex(ctx context.Context, def keyIndexDef) error {
	t := v.table
	url := t.VaultFolder() + def.object
	v.out.Objects++
	x, err := t.openKeyIndex(ctx, t.cat.client, t.schema, def)
	if errors.Is(err, manifest.ErrSchema) { // until the next update, and not used before
		v.out.Warnings = append(v.out.Warnings, url+": "+err.Error())
		return nil
	}
	if err != nil {
		return v.unreadable(err, FaultIndex, "", url)
	}
	for i := range x.state.Levels {
		l := &x.state.Levels[i]
		url := t.VaultFolder() + l.Object
		v.out.Objects++
		f, err := keyindex.Open(ctx, t.cat.client, url, x.state, l)
		if err != nil {
			if err := v.unreadable(err, FaultIndex, "", url); err != nil {
				return err
			}
			continue
		}
		if !v.o.Data.has(url) {
			continue
		}
		r, err := f.Verify(ctx)
		if err != nil {
			if err := v.unreadable(err, FaultIndex, "", url); err != nil {
				return err
			}
			continue
		}
		for _, e := range r.Errors {
			v.found(FaultIndex, "", url, e.Offset, "%s", e.What)
		}
		v.out.Bytes += r.Bytes
		v.out.UnprotectedBytes += r.UnprotectedBytes
	}
	return nil
}
