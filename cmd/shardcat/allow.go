package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/urlresolve"
)

// allowFlag adds --allow: what the references of a shard may name outside its own folder.
type allowFlag []string

func (f *allowFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar((*[]string)(f), "allow", nil,
		"folder or URL outside the shard's folder that it may refer to, as after merge --allow-external (repeatable; default: none)")
}

// unused refuses the flag for a file of a format whose files refer to nothing.
func (f allowFlag) unused(kind fileio.Format) error {
	if len(f) > 0 {
		return usagef("--allow applies to shards, but the file is %s", kind)
	}
	return nil
}

// prefixes opens the buckets of the prefixes and gives them in canonical form.
func (f allowFlag) prefixes(ctx context.Context, a *app) ([]urlresolve.Prefix, error) {
	var out []urlresolve.Prefix
	for _, raw := range f {
		url, err := a.mount(ctx, raw)
		if err != nil {
			return nil, usagef("--allow %s: %w", raw, err)
		}
		p, err := urlresolve.ParsePrefix(strings.TrimSuffix(url, "/"))
		if err != nil {
			return nil, usagef("--allow %s: %w", raw, err)
		}
		out = append(out, p)
	}
	return out, nil
}
