package main

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

func (a *app) indexCommand() *cobra.Command {
	return group("index", "Query and inspect indexes", a.indexLookupCommand(), a.indexInspectCommand())
}

// maxDescriptor is the longest descriptor of an index that is read: 65,536 partitions with long names.
const maxDescriptor = 64 << 20

// readDescriptor reads the descriptor of an index, and gives the canonical URL of its object.
func (a *app) readDescriptor(ctx context.Context, path string) (*metapb.IndexDescriptor, string, error) {
	url, err := a.mount(ctx, path)
	if err != nil {
		return nil, "", err
	}
	b, _, err := a.client.ReadAll(ctx, url, maxDescriptor)
	if err != nil {
		return nil, "", err
	}
	d := new(metapb.IndexDescriptor)
	if err := proto.Unmarshal(b, d); err != nil || d.IndexType == "" {
		return nil, "", corrupt.Locate(corrupt.At(0, "not the descriptor of an index"), url, 0)
	}
	return d, url, nil
}
