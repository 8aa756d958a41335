package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/index"
)

func (a *app) indexCommand() *cobra.Command {
	return group("index", "Query and inspect indexes", a.indexLookupCommand(), a.indexInspectCommand())
}

// maxDescriptor is the longest descriptor of an index that is read: 65,536 partitions with long names.
const maxDescriptor = 64 << 20

// readDescriptor reads the descriptor of an index, and gives the canonical URL of its object.
func (a *app) readDescriptor(ctx context.Context, path string) (d index.Descriptor, url string, err error) {
	if url, err = a.mount(ctx, path); err != nil {
		return d, "", err
	}
	b, _, err := a.client.ReadAll(ctx, url, maxDescriptor)
	if err != nil {
		return d, "", err
	}
	d, err = index.ParseDescriptor(b)
	return d, url, corrupt.Locate(err, url, 0)
}
