package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

func (a *app) shardVerifyCommand() *cobra.Command {
	var formats formatFlags
	var allow allowFlag
	cmd := &cobra.Command{
		Use:   "verify SHARD",
		Short: "Verify every referenced byte of a shard, or a file of another format",
		Example: `  shardcat shard verify a.amudai.shard
  shardcat shard verify s3://bucket/a.amudai.shard --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := a.mount(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			kind, err := a.kindOf(cmd.Context(), url)
			if err != nil {
				return err
			}
			if kind != convert.Amudai {
				if err := allow.unused(kind); err != nil {
					return err
				}
				return a.verifyFile(cmd, url, kind, &formats)
			}
			if _, err := formats.of(convert.Amudai); err != nil {
				return err
			}
			prefixes, err := allow.prefixes(cmd.Context(), a)
			if err != nil {
				return err
			}
			bar := a.bar("verify", "B", 0)
			report, err := verify.Shard(cmd.Context(), a.client.Uncached(), url, verify.Options{Progress: bar.Add, Expect: bar.Expect, MaxMemory: a.maxMemory, Policy: urlresolve.Policy{Allow: prefixes}})
			bar.Finish()
			if err != nil {
				return err
			}
			return a.printVerified(url, report)
		},
	}
	formats.add(cmd, false)
	allow.add(cmd)
	return cmd
}

// printVerified prints a report and ends the command by what it states.
func (a *app) printVerified(url string, r *corrupt.Report) error {
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, f := range r.Errors {
			if f.Offset < 0 {
				a.printf("%s: %s\n", f.Object, f.What)
			} else {
				a.printf("%s at offset %d: %s\n", f.Object, f.Offset, f.What)
			}
		}
		for _, w := range r.Warnings {
			a.printf("note: %s\n", w)
		}
		verdict := "whole"
		if !r.OK {
			verdict = "damaged"
		}
		a.printf("%s: %s; %s, %s checked, %s without checksum\n", url, verdict, plural.Count(r.Objects, "object"), plural.Count(r.Bytes, "byte"), plural.Count(r.UnprotectedBytes, "byte"))
	}
	if !r.OK {
		return silently(exitCorrupt)
	}
	return nil
}
