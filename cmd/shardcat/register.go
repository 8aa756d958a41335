package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

func (a *app) registerCommand() *cobra.Command {
	var o catalog.RegisterOptions
	var read string
	var allow allowFlag
	cmd := &cobra.Command{
		Use:   "register T SHARD...",
		Short: "Add existing shards to a table, in place or as copies",
		Long: `Add existing shards to a table in place, or with --copy as copies in the table's vault. Exit code 3 refuses a shard whose
metadata declares more records or memory than its bytes allow, whose objects are missing, or whose data cannot be read. The data of
shards up to 16 MiB is read and verified; of larger ones only what metadata cannot bound. --read-data changes this.`,
		Example: `  shardcat register logs s3://bucket/export/a.amudai.shard
  shardcat register logs s3://bucket/export/b.amudai.shard --read-data all
  shardcat register logs ./a.amudai.shard ./b.amudai.shard --job-id export-7
  shardcat register logs s3://elsewhere/c.amudai.shard --copy
  shardcat register logs ./merged.amudai.shard --allow /data/parts`,
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			mode, ok := readModes[read]
			if !ok {
				return usagef("invalid argument %q for --read-data: small, all or least", read)
			}
			o.Read = mode
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			urls, err := a.mountAll(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			if o.Allow, err = allow.prefixes(cmd.Context(), a); err != nil {
				return err
			}
			bar := a.bar("register", "shards", int64(len(urls)))
			o.Progress = func() { bar.Add(1) }
			r, err := t.Register(cmd.Context(), urls, o)
			bar.Finish()
			if err != nil {
				return err
			}
			if len(r.Unread) > 0 {
				a.warn(fmt.Sprintf("%s lacks the columns %s: their values are not read", t.Name(), strings.Join(r.Unread, ", ")))
			}
			a.noteAdopted(t)
			if a.json {
				return a.printJSON(r)
			}
			a.printf("%s: %s with %s, snapshot %d\n", t.Name(), plural.Count(len(r.Shards), "shard"), plural.Count(r.Records, "record"), r.SnapshotID)
			return nil
		},
	}
	cmd.Flags().StringVar(&o.JobID, "job-id", "", "idempotency key: a job with the same ID is committed once (default: random)")
	cmd.Flags().BoolVar(&o.Copy, "copy", false, "copy the shards into the table's vault, one object per shard")
	allow.add(cmd)
	cmd.Flags().StringVar(&read, "read-data", "small", "verify the data of shards first: small (up to 16 MiB), all, or least (only columns whose decoding cost is unknown)")
	return cmd
}

// noteAdopted notes what it means for other tables that a folder above the vault is adopted: a shard there may refer to their objects.
func (a *app) noteAdopted(t *catalog.Table) {
	folders, err := t.Adopted()
	if err != nil {
		return // the next command fails with it
	}
	for _, folder := range folders {
		if strings.HasPrefix(t.VaultFolder(), folder) {
			a.warn(fmt.Sprintf("%s holds the vault, and shards of %s may refer to anything there: gc is refused for the other tables. Shards in a folder of their own, or --copy, avoid that",
				folder, t.Name()))
		}
	}
}

// readModes are the values of --read-data.
var readModes = map[string]verify.ReadData{"small": verify.ReadSmall, "all": verify.ReadAll, "least": verify.ReadLeast}
