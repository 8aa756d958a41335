package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// addIndexFlags adds the flags that ask for indexes of what.
func addIndexFlags(flags *pflag.FlagSet, text, hash *[]string, what string) {
	flags.StringArrayVar(text, "text-index", nil, "text index of "+what+", for HAS, HASPREFIX, = and IN: COL or COL:TOKENIZER, which is unicode-word (default), unicode-log, ipv4 or trivial; COL,COL share one index, COL+COL are one field of it (repeatable)")
	flags.StringArrayVar(hash, "hash-index", nil, "hash index of "+what+", for = and IN: COL; COL,COL share one index (repeatable)")
}

// indexSpecs reads the flags.
func indexSpecs(text, hash []string) (out []shardfmt.IndexSpec, err error) {
	for _, kind := range []string{"text:", "hash:"} {
		flags := map[string][]string{"text:": text, "hash:": hash}[kind]
		for _, f := range flags {
			s, parseErr := shardfmt.ParseIndexSpec(kind + f)
			err = errors.Join(err, parseErr)
			out = append(out, s)
		}
	}
	if err != nil {
		return nil, usageError{err}
	}
	return out, nil
}

// defaultIndexes adds the flags to the properties of a new table.
func defaultIndexes(properties map[string]string, text, hash []string, s *schema.Schema) error {
	specs, err := indexSpecs(text, hash)
	if err != nil || len(specs) == 0 {
		return err
	}
	if _, also := properties[catalog.IndexesProperty]; also {
		return usagef("--text-index and --hash-index say what property %s says", catalog.IndexesProperty)
	}
	if err := shardfmt.CheckIndexes(specs, s); err != nil {
		return usageError{err}
	}
	properties[catalog.IndexesProperty] = shardfmt.FormatIndexSpecs(specs)
	return nil
}
