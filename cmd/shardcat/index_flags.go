package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// indexFlags request indexes.
type indexFlags struct {
	text, hash, layer []string
	scope             string
}

// add adds the flags that request indexes of what.
func (f *indexFlags) add(flags *pflag.FlagSet, what string) {
	flags.StringArrayVar(&f.text, "text-index", nil, "text index of "+what+", for HAS, HASPREFIX, = and IN: COL or COL:TOKENIZER, which is unicode-word (default), unicode-log, ipv4 or trivial; COL,COL share one index, COL+COL share one of its fields (repeatable)")
	flags.StringArrayVar(&f.hash, "hash-index", nil, "hash index of "+what+", for = and IN: COL; COL,COL share one index (repeatable)")
	flags.StringArrayVar(&f.layer, "layer-index", nil, "sorted index of "+what+", for =, IN, ranges and BETWEEN: COL, or COL,COL for keys of several columns, looked up by the first ones (repeatable)")
	addIndexScope(flags, &f.scope)
}

// addIndexScope adds the flag for what indexes belong to.
func addIndexScope(flags *pflag.FlagSet, scope *string) {
	flags.StringVar(scope, "index-scope", "stripe", "stripe: one index per stripe, kept by merges; shard: one index per shard, for fewer requests, merged by merges; field and shard-field: the same for a single column, in the descriptor of its field")
}

// scoped gives an index the scope of the flag, unless it states its own.
func scoped(s shardfmt.IndexSpec, scope string) (shardfmt.IndexSpec, error) {
	var of shardfmt.IndexScope
	err := of.Set(scope)
	if err == nil && of != shardfmt.OfStripe {
		s.Scope = of
		err = (shardfmt.IndexSpecs{s}).Check(nil)
	}
	return s, err
}

// specs reads the flags.
func (f *indexFlags) specs() (out shardfmt.IndexSpecs, err error) {
	if f.scope != "stripe" && len(f.text)+len(f.hash)+len(f.layer) == 0 {
		return nil, usagef("--index-scope needs --text-index, --hash-index or --layer-index")
	}
	for _, of := range []struct {
		kind  string
		flags []string
	}{{"text:", f.text}, {"hash:", f.hash}, {"layer:", f.layer}} {
		for _, flag := range of.flags {
			var s shardfmt.IndexSpec
			parseErr := s.Set(of.kind + flag)
			if parseErr == nil {
				s, parseErr = scoped(s, f.scope)
			}
			err = errors.Join(err, parseErr)
			out = append(out, s)
		}
	}
	if err != nil {
		return nil, usageError{err}
	}
	return out, nil
}

// defaults adds the flags to the properties of a new table.
func (f *indexFlags) defaults(properties map[string]string, s *schema.Schema) error {
	specs, err := f.specs()
	if err != nil || len(specs) == 0 {
		return err
	}
	if _, also := properties[catalog.IndexesProperty]; also {
		return usagef("--text-index, --hash-index and --layer-index can't be used with the property %s", catalog.IndexesProperty)
	}
	if err := specs.Check(s); err != nil {
		return usageError{err}
	}
	properties[catalog.IndexesProperty] = specs.String()
	return nil
}
