package catalog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// UndoneProperty is the table property that lists, as a JSON array, the snapshots that were rolled back, or dropped
// with their branch. When they have expired it tells that a job which they committed is to be done again.
const UndoneProperty = "shardcat.undone"

// undone reads UndoneProperty.
func (t *Table) undone() ([]int64, error) {
	text := t.Properties()[UndoneProperty]
	if text == "" {
		return nil, nil
	}
	var ids []int64
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		return nil, fmt.Errorf("table %s: property %s: %w", t.name, UndoneProperty, err)
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
		u.updates = append(u.updates, table.NewRemovePropertiesUpdate([]string{UndoneProperty}))
		return nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	u.updates = append(u.updates, table.NewSetPropertiesUpdate(iceberg.Properties{UndoneProperty: string(text)}))
	return nil
}
