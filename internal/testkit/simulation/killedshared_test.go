//go:build unix

package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/catalog"
)

// sharedAppends are three appends of one process, the last two of which share a snapshot: both are there, or neither.
func sharedAppends() work {
	const first, appends = 100, 3
	return work{name: "shared appends", steps: 40,
		do: func(t *catalog.Table) error {
			c := t.Catalog()
			var all []func() error
			for i := range int64(appends) {
				all = append(all, func() error {
					own, err := c.Load(context.Background(), t.Name())
					if err != nil {
						return err
					}
					ids := []int64{first + 2*i, first + 2*i + 1}
					_, err = own.Ingest(context.Background(), newSource(ids), catalog.IngestOptions{JobID: fmt.Sprint("shared-", i), ShareCommit: true})
					return err
				})
			}
			return errors.Join(append(shared.Run(c, all...), t.Refresh(context.Background()))...)
		},
		after: func(ids map[int64]bool) {
			for id := range int64(2 * appends) {
				ids[first+id] = true
			}
		},
		between: func(before, ids map[int64]bool) bool {
			return len(ids) == len(before)+2 && ids[first] && ids[first+1]
		}}
}
