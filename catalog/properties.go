package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// guardedProperties hold the table together and are not the caller's to change.
var guardedProperties = []string{"format-version", "gc.enabled", "write.format.default", "write.metadata.compression-codec"}

// SetProperties sets and removes properties of the table in one commit. That a property has its value already, or is not there to
// be removed, is no error. Properties on which the safety of the table's shards rests are refused: ErrUnsafe.
func (t *Table) SetProperties(ctx context.Context, set map[string]string, remove []string) error {
	for _, key := range slices.Concat(slices.Collect(maps.Keys(set)), remove) {
		if slices.Contains(guardedProperties, key) {
			return fmt.Errorf("%w: property %s keeps other engines from harming the table's shards", ErrUnsafe, key)
		}
	}
	done := func() bool {
		is := t.Properties()
		for key, want := range set {
			if v, ok := is[key]; !ok || v != want {
				return false
			}
		}
		return !slices.ContainsFunc(remove, func(key string) bool { _, ok := is[key]; return ok })
	}
	for n := 1; !done(); n++ {
		var updates []table.Update
		if len(set) > 0 {
			updates = append(updates, table.NewSetPropertiesUpdate(iceberg.Properties(set)))
		}
		if len(remove) > 0 {
			updates = append(updates, table.NewRemovePropertiesUpdate(remove))
		}
		_, _, sendErr := t.cat.ice.CommitTable(ctx, t.name.identifier(),
			[]table.Requirement{table.AssertTableUUID(t.ice.Metadata().TableUUID())}, updates)
		// Lost answer or not: what counts is what the table has now.
		if err := t.Refresh(ctx); err != nil {
			return errors.Join(sendErr, err)
		}
		if done() {
			return nil
		}
		if n >= t.cat.opts.CommitAttempts {
			return fmt.Errorf("%w: table %s: properties could not be set: %w", ErrConflict, t.name, sendErr)
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
