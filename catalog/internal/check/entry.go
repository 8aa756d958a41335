package check

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/urlresolve"
)

// EntryFaults lists where an entry states other things than its shard.
func EntryFaults(e, is *manifest.Entry) (out []string) {
	number := func(what string, entry, shard int64) {
		if entry != shard {
			out = append(out, fmt.Sprintf("its entry says %d %s, the shard %d", entry, what, shard))
		}
	}
	number("live records", e.Records, is.Records)
	number("deleted records", e.Deleted, is.Deleted)
	number("stripes", e.Stripes, is.Stripes)
	if e.Created != is.Created {
		out = append(out, fmt.Sprintf("its entry says that the records were created in %v, the shard %v", e.Created, is.Created))
	}
	for _, id := range slices.Sorted(maps.Keys(e.Columns)) {
		has, ok := is.Columns[id]
		if !ok {
			continue // of a column that was dropped since
		}
		out = append(out, columnFaults(id, e.Columns[id], has)...)
	}
	return out
}

// columnFaults compares what readers trust: counts that are known on both sides, and bounds.
func columnFaults(id int, entry, shard manifest.Column) (out []string) {
	for _, c := range []struct {
		what         string
		entry, shard int64
	}{{"values", entry.Values, shard.Values}, {"nulls", entry.Nulls, shard.Nulls}, {"NaNs", entry.NaNs, shard.NaNs}} {
		if c.entry != c.shard && c.entry != manifest.Unknown {
			out = append(out, fmt.Sprintf("field %d: its entry says %d %s, the shard %d", id, c.entry, c.what, c.shard))
		}
	}
	if entry.Lower != nil && !bytes.Equal(entry.Lower, shard.Lower) {
		out = append(out, fmt.Sprintf("field %d: its entry has the lower bound %x, the shard %x", id, entry.Lower, shard.Lower))
	}
	if entry.Upper != nil && !bytes.Equal(entry.Upper, shard.Upper) {
		out = append(out, fmt.Sprintf("field %d: its entry has the upper bound %x, the shard %x", id, entry.Upper, shard.Upper))
	}
	return out
}

// Place refuses an entry whose root lies where the table has no business.
func Place(path string, allow []urlresolve.Prefix) error {
	at, err := urlresolve.Parse(path)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(allow, func(p urlresolve.Prefix) bool { return p.Holds(at) }) {
		return fmt.Errorf("%w: the entry %s is neither in the table's vault folder nor in an adopted one", caterr.ErrUnsafe, path)
	}
	return nil
}
