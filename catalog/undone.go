package catalog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// undoneProperty is the table property that lists, as a JSON array, the snapshots that were rolled back, or dropped
// with their branch. When they have expired it reports that a job which they committed is to be done again.
const undoneProperty = "shardcat.undone"

// undone reads undoneProperty.
func (t *Table) undone() ([]int64, error) {
	text := t.Properties()[undoneProperty]
	if text == "" {
		return nil, nil
	}
	var ids []int64
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		return nil, fmt.Errorf("table %s: property %s: %w", t.name, undoneProperty, err)
	}
	return ids, nil
}

// noteUndone adds to an update that snapshots are undone, or done again.
func (t *Table) noteUndone(u *metaUpdate, undone, redone []int64) error {
	was, err := t.undone()
	if err != nil {
		return err
	}
	ids := slices.Concat(was, undone)
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id int64) bool { return slices.Contains(redone, id) })
	switch {
	case slices.Equal(ids, was):
		return nil
	case len(ids) == 0:
		u.updates = append(u.updates, table.NewRemovePropertiesUpdate([]string{undoneProperty}))
		return nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	u.updates = append(u.updates, table.NewSetPropertiesUpdate(iceberg.Properties{undoneProperty: string(text)}))
	return nil
}
