// Package conformance is the kit by which any reader of the format is tested: shards with the records they hold, in five
// levels, and damaged shards that a reader must refuse.
//
//	DIR/kit.json                     the cases, a Kit
//	DIR/l1/NAME/shard.amudai.shard   a shard (and its stripes)
//	DIR/l1/NAME/rows.ndjson          its records, a line each
//	DIR/refuse/NAME/shard.amudai.shard
//
// The levels are plain values (l1), every encoding (l2), nested types and unions (l3), indexes and deleted records (l4) and
// forms that the book of the format knows and the reference implementation does not write (l5). docs/format/conformance.md
// states what is expected of a reader. The records are those that were given to the writer; no reader has touched them.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
)

// Version of the kit: it grows with every change of its cases.
const Version = 7

// The names of objects in the folder of a case.
const (
	RootName = "shard.amudai.shard"
	RowsName = "rows.ndjson"
	kitName  = "kit.json"
)

// Refuse is the level of the shards that must be refused.
const Refuse = "refuse"

// Levels of a kit, in order.
var Levels = []string{"l1", "l2", "l3", "l4", "l5", Refuse}

// Case is one shard.
type Case struct {
	// Level is one of Levels, Name is unique in it.
	Level string `json:"level"`
	Name  string `json:"name"`
	// Shard is the path of the root in the kit, with slashes; Rows that of its records, empty where it must be refused.
	Shard string `json:"shard"`
	Rows  string `json:"rows,omitempty"`
	// Records is how many lines Rows has.
	Records int `json:"records,omitempty"`
	// Schema of the records, as the CLI reads it: values are compared by their type.
	Schema json.RawMessage `json:"schema,omitempty"`
	// What reports what is special, or damaged; Answer what a reader calls it: corrupt, unsupported, missing or unsafe.
	What   string `json:"what"`
	Answer string `json:"answer,omitempty"`
	// Optional means that a reader may refuse the shard as unsupported, because it has a form that not every reader knows.
	Optional bool `json:"optional,omitempty"`
	// Sound is the name of the case of the same level that is the shard before it was damaged. Only a reader that reads that one has
	// refused this one for its damage.
	Sound string `json:"sound,omitempty"`
	// Lookups are the indexes of the shard, with their names.
	Lookups []Lookup `json:"lookups,omitempty"`
}

// Kit is a list of cases.
type Kit struct {
	Version int    `json:"version"`
	Cases   []Case `json:"cases"`
}

// Write writes a kit below base, a canonical URL that ends with a slash and has no kit yet.
func Write(ctx context.Context, client *blobio.Client, base string) (*Kit, error) {
	k := &Kit{Version: Version}
	for _, t := range tables() {
		c, err := t.write(ctx, client, base)
		if err == nil {
			err = t.writeLookups(ctx, client, base, &c)
		}
		if err != nil {
			return nil, fmt.Errorf("case %s/%s: %w", t.level, t.name, err)
		}
		k.Cases = append(k.Cases, c)
	}
	forms, err := writeForms(ctx, client, base)
	if err != nil {
		return nil, err
	}
	k.Cases = append(k.Cases, forms...)
	slices.SortStableFunc(k.Cases, func(a, b Case) int { return strings.Compare(a.Level, b.Level) }) // the levels sort as they stand
	damaged, err := writeDamaged(ctx, client, base)
	if err != nil {
		return nil, err
	}
	k.Cases = append(k.Cases, damaged...)
	b, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return nil, err
	}
	return k, client.Put(ctx, base+kitName, append(b, '\n'))
}
