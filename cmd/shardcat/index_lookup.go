package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/urlresolve"
)

func (a *app) indexLookupCommand() *cobra.Command {
	var allow allowFlag
	cmd := &cobra.Command{
		Use:   "lookup INDEX.pb KEYS|-",
		Short: "Look up keys in an index",
		Example: `  shardcat index lookup index.pb keys.ndjson
  echo '{"term":"timeout"}' | shardcat index lookup index.pb -`,
		Long: `Look up keys in a single index. INDEX.pb is a bare IndexDescriptor whose URLs are relative to its folder. KEYS has one
JSON object per line; the results are printed one per line in the same order:

  {"term":"…"}             the postings of the terms that are equal under the collation of a text index
  {"prefix":"…"}           the records that certainly, and that possibly, hold a term with this prefix
  {"hash":"16 hex digits"} the positions of a hash index
  {"key":…}                the positions of a key of a layer index: a number (times as ticks of 100 ns, Booleans as 0 and 1), or a text
  {"from":…,"to":…}        the positions of the keys from one to another, both included; without one there is no bound`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			prefixes, err := allow.prefixes(ctx, a)
			if err != nil {
				return err
			}
			d, base, err := a.readDescriptor(ctx, args[0])
			if err != nil {
				return err
			}
			ask, err := a.openIndex(ctx, base, d, urlresolve.Policy{Allow: prefixes})
			if err != nil {
				return err
			}
			keys, err := a.openKeys(args[1])
			if err != nil {
				return err
			}
			defer keys.Close()
			return a.answerKeys(ctx, keys, ask)
		},
	}
	allow.add(cmd)
	return cmd
}

// indexKey is one question.
type indexKey struct {
	Term   *string `json:"term"`
	Prefix *string `json:"prefix"`
	Hash   *string `json:"hash"`
	// Of a layer index.
	Key  json.RawMessage `json:"key"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// askFunc answers a question by what is to be printed.
type askFunc func(ctx context.Context, k indexKey) (any, error)

// openIndex opens an index of any type that is known.
func (a *app) openIndex(ctx context.Context, base string, d index.Descriptor, p urlresolve.Policy) (askFunc, error) {
	switch kind, ok := d.Kind(); {
	case ok && kind == shardfmt.TextIndex:
		x, err := d.OpenText(ctx, a.client, base, p)
		return textAnswers{x}.ask, err
	case ok && kind == shardfmt.LayerIndex:
		x, err := d.OpenLayer(ctx, a.client, base, p)
		return layerAnswers{x}.ask, err
	}
	x, err := d.OpenHash(a.client, base, p)
	return hashAnswers{x}.ask, err
}

// openKeys opens a local file, or standard input.
func (a *app) openKeys(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, exitError{exitNotFound, err}
	}
	return f, err
}

// maxKeyLine is the longest line of a file of keys.
const maxKeyLine = 16 << 20

// answerKeys answers line by line.
func (a *app) answerKeys(ctx context.Context, keys io.Reader, ask askFunc) error {
	lines := bufio.NewScanner(keys)
	lines.Buffer(nil, maxKeyLine)
	for n := 1; lines.Scan(); n++ {
		var k indexKey
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			return usagef("line %d of the keys: %w", n, err)
		}
		answer, err := ask(ctx, k)
		if err != nil {
			return err
		}
		if answer == nil {
			return usagef("line %d of the keys: this index does not support %s", n, lines.Text())
		}
		if err := a.printLine(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// printLine writes one line of JSON to stdout.
func (a *app) printLine(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type postingJSON struct {
	Field     uint32       `json:"field"`
	Positions *[]uint64    `json:"positions,omitempty"`
	Ranges    *[][2]uint64 `json:"ranges,omitempty"`
	Repr      string       `json:"repr"`
	Stripe    uint16       `json:"stripe"`
}

type termJSON struct {
	Absent   bool          `json:"absent,omitempty"`
	Postings []postingJSON `json:"postings"`
	// Spellings are those of the entries, if there are several.
	Spellings []string `json:"spellings,omitempty"`
	Term      string   `json:"term"`
}

type setJSON struct {
	Field     uint32   `json:"field"`
	Positions []uint64 `json:"positions"`
	Stripe    uint16   `json:"stripe"`
}

type prefixJSON struct {
	Certain  []setJSON `json:"certain"`
	Possible []setJSON `json:"possible"`
	Prefix   string    `json:"prefix"`
}

type hashJSON struct {
	Absent    bool     `json:"absent,omitempty"`
	Hash      string   `json:"hash"`
	Positions []uint64 `json:"positions"`
}

// textAnswers are those of a text index.
type textAnswers struct{ x *index.Text }

func (t textAnswers) ask(ctx context.Context, k indexKey) (any, error) {
	switch {
	case k.Term != nil:
		return t.term(ctx, *k.Term)
	case k.Prefix != nil:
		return t.prefix(ctx, *k.Prefix)
	}
	return nil, nil
}

func (t textAnswers) term(ctx context.Context, term string) (any, error) {
	entries, err := t.x.Lookup(ctx, term)
	if err != nil {
		return nil, err
	}
	out := termJSON{Term: term, Postings: []postingJSON{}}
	for i, e := range entries {
		if len(entries) > 1 && (i == 0 || e.Term != entries[i-1].Term) {
			out.Spellings = append(out.Spellings, e.Term)
		}
		for _, p := range e.Postings {
			out.Postings = append(out.Postings, postingOf(&p))
		}
	}
	if len(out.Spellings) == 1 {
		out.Spellings = nil
	}
	out.Absent = len(out.Postings) == 0
	return out, nil
}

func postingOf(p *index.Posting) postingJSON {
	out := postingJSON{Field: p.Field, Stripe: p.Stripe, Repr: p.Kind.String()}
	if positions, ok := p.Positions(); ok {
		out.Positions = &positions
		return out
	}
	ranges := make([][2]uint64, 0, len(p.Values)/2)
	for _, r := range p.Ranges() {
		ranges = append(ranges, [2]uint64{r.Start, r.End})
	}
	out.Ranges = &ranges
	return out
}

func (t textAnswers) prefix(ctx context.Context, prefix string) (any, error) {
	entries, err := t.x.Prefix(ctx, prefix)
	if err != nil {
		return nil, err
	}
	answer, err := index.Combine(entries)
	return prefixJSON{Certain: setsOf(answer.Certain), Possible: setsOf(answer.Possible), Prefix: prefix}, err
}

func setsOf(sets []index.PositionSet) []setJSON {
	out := make([]setJSON, len(sets))
	for i, s := range sets {
		out[i] = setJSON{s.Field, s.Positions, s.Stripe}
	}
	return out
}

// hashAnswers are those of a hash index.
type hashAnswers struct{ x *index.Hash }

func (h hashAnswers) ask(ctx context.Context, k indexKey) (any, error) {
	if k.Hash == nil {
		return nil, nil
	}
	hash, err := strconv.ParseUint(*k.Hash, 16, 64)
	if err != nil || len(*k.Hash) != 16 {
		return nil, usagef("%q is not a hash of 16 hex digits", *k.Hash)
	}
	found, err := h.x.Lookup(ctx, hash)
	out := hashJSON{Absent: len(found) == 0, Hash: fmt.Sprintf("%016x", hash), Positions: found}
	if found == nil {
		out.Positions = []uint64{}
	}
	return out, err
}
