package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

// atFlags choose a state of a table; scan, files and stats share them.
type atFlags struct{ snapshot, asOf, ref string }

func (f *atFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.snapshot, "snapshot", "", "read the table at snapshot `ID` (default: the newest)")
	flags.StringVar(&f.asOf, "as-of", "", "read the table as of this `time`, RFC 3339")
	flags.StringVar(&f.ref, "ref", "", "read the table at branch or tag `name` (default: main)")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "as-of", "ref")
}

// at reads the flags.
func (f *atFlags) at() (at catalog.At, err error) {
	at.Ref = f.ref
	if f.snapshot != "" {
		id, parseErr := strconv.ParseInt(f.snapshot, 10, 64)
		if parseErr != nil || id <= 0 {
			return at, usagef("%q is not a snapshot ID", f.snapshot)
		}
		at.SnapshotID = id
	}
	if f.asOf != "" {
		when, err := parseTime(f.asOf)
		return catalog.AtTime(when), err
	}
	return at, nil
}
