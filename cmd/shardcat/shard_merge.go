package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/urlresolve"
)

func (a *app) shardMergeCommand() *cobra.Command {
	var external bool
	var allow allowFlag
	cmd := &cobra.Command{
		Use:   "merge OUT.amudai.shard IN...",
		Short: "Merge shards into one by listing their stripes, without copying data",
		Example: `  shardcat shard merge all.amudai.shard a.amudai.shard b.amudai.shard
  shardcat shard merge all.amudai.shard /elsewhere/a.amudai.shard --allow-external`,
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			urls, err := a.mountAll(cmd.Context(), args)
			if err != nil {
				return err
			}
			inputs := make([]merge.Input, len(urls)-1)
			for i, u := range urls[1:] {
				inputs[i].URL = u
			}
			prefixes, err := allow.prefixes(cmd.Context(), a)
			if err != nil {
				return err
			}
			started := time.Now()
			bar := a.bar("merge", "shards", int64(len(inputs)))
			r, err := merge.Concat(cmd.Context(), a.client, urls[0], inputs, merge.Options{
				AllowExternal: external, Policy: urlresolve.Policy{Allow: prefixes}, Progress: func() { bar.Add(1) },
			})
			bar.Finish()
			if err != nil {
				return err
			}
			return a.printMerged(r, time.Since(started))
		},
	}
	cmd.Flags().BoolVar(&external, "allow-external", false, "allow references to objects outside the folder of OUT (default: refused)")
	allow.add(cmd)
	return cmd
}

// merged is the JSON form of a merge's result.
type merged struct {
	URL            string   `json:"url"`
	Inputs         int      `json:"inputs"`
	Stripes        int      `json:"stripes"`
	Records        uint64   `json:"records"`
	RootBytes      int64    `json:"root_bytes"`
	BytesMoved     int64    `json:"bytes_moved"`
	CreationMin    *string  `json:"creation_min"`
	CreationMax    *string  `json:"creation_max"`
	Objects        []string `json:"objects"`
	DroppedIndexes int      `json:"dropped_indexes"`
	JoinedIndexes  int      `json:"joined_indexes"`
	IndexBytes     int64    `json:"index_bytes"`
}

func (a *app) printMerged(r *merge.Result, took time.Duration) error {
	if !a.json {
		a.printf("%s: %s, %s, %s; 0 bytes of data moved, a root of %s written in %s\n",
			r.URL, plural.Count(r.Inputs, "shard"), plural.Count(r.Stripes, "stripe"), plural.Count(r.Records, "record"), plural.Count(r.Size, "byte"), took.Round(time.Millisecond))
		if r.DroppedIndexes > 0 {
			a.printf("%s dropped, because not all inputs have the same\n", plural.Count(r.DroppedIndexes, "shard-scoped index"))
		}
		if r.JoinedIndexes > 0 {
			a.printf("%s merged from those of the inputs, %s\n", plural.Count(r.JoinedIndexes, "shard-scoped index"), plural.Count(r.IndexBytes, "byte"))
		}
		return nil
	}
	m := merged{URL: r.URL, Inputs: r.Inputs, Stripes: r.Stripes, Records: r.Records, RootBytes: r.Size, Objects: r.Objects, DroppedIndexes: r.DroppedIndexes,
		JoinedIndexes: r.JoinedIndexes, IndexBytes: r.IndexBytes}
	if r.CreationKnown {
		lo, hi := timeText(r.CreationMin), timeText(r.CreationMax)
		m.CreationMin, m.CreationMax = &lo, &hi
	}
	return a.printJSON(m)
}

// timeText prints ticks as RFC 3339.
func timeText(ticks uint64) string { return string(literal.AppendDateTime(nil, int64(ticks))) }
