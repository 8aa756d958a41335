package meta

import (
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Properties is a list of properties. A shard, a stripe and a field have two each, of standard and of custom
// properties. A name may occur more than once, as it does after a merge; the first one counts.
type Properties []*metapb.NameValuePair

// Get is the value of the first property called name, nil if there is none.
func (b Properties) Get(name string) *metapb.AnyValue {
	for _, p := range b {
		if p.GetName() == name {
			return p.GetValue()
		}
	}
	return nil
}

// Text is the property as a string, if it is one.
func (b Properties) Text(name string) (string, bool) { return TextOf(b.Get(name)) }

// Int is the property as an integer, if it is one.
func (b Properties) Int(name string) (int64, bool) { return Int64Of(b.Get(name)) }

// Set gives the property called name a value, in the place of all that had the name.
func (b *Properties) Set(name string, v *metapb.AnyValue) {
	kept := (*b)[:0:0]
	done := false
	for _, p := range *b {
		switch {
		case p.GetName() != name:
			kept = append(kept, p)
		case !done:
			kept = append(kept, Pair(name, v))
			done = true
		}
	}
	if !done {
		kept = append(kept, Pair(name, v))
	}
	*b = kept
}

// Check checks what a writer must hold to: names that are UTF-8 and not empty, values as in CheckValue. A name may occur twice: a
// bag may be that of a merged shard.
func (b Properties) Check() error {
	for _, p := range b {
		if !utf8.ValidString(p.GetName()) || p.GetName() == "" {
			return corrupt.At(-1, "property name %q is empty or not UTF-8", p.GetName())
		}
		if err := CheckValue(p.GetValue()); err != nil {
			return err
		}
	}
	return nil
}

// Creation is the range of creation times of a shard, in ticks of 100 ns since the start of year 1. It is
// not known if either end is absent: many shards of foreign writers have none.
func Creation(p *metapb.ShardProperties) (min, max uint64, known bool) {
	if p.GetCreationMin() == nil || p.GetCreationMax() == nil {
		return 0, 0, false
	}
	return p.CreationMin.Ticks, p.CreationMax.Ticks, true
}

// SetCreation sets the range of creation times.
func SetCreation(p *metapb.ShardProperties, min, max uint64) {
	p.CreationMin, p.CreationMax = &metapb.DateTimeUtc{Ticks: min}, &metapb.DateTimeUtc{Ticks: max}
}

// Properties of our own, in the custom bag of a shard.
const (
	// PropertyFieldIDs holds the Iceberg field ids of all nodes in the order of their numbers, as decimal
	// numbers separated by commas; 0 for a node that is not a column of the table.
	PropertyFieldIDs = "shardcat.field-ids"
	// PropertyRequired holds the numbers of the nodes that hold no null but where their parent is null, rising, as decimal numbers
	// separated by commas; see schema.Schema.Required.
	PropertyRequired = "shardcat.required"
	// PropertyLayout reports how a root is laid out: LayoutColumns, LayoutStripes, or nothing.
	PropertyLayout = "shardcat.layout"
	// PropertyBounds holds the Bounds of a root of LayoutStripes.
	PropertyBounds = "shardcat.stripe-bounds"
	// PropertyAttempt reports one attempt to write a root under a chosen name from another: after a lost answer
	// the writer knows its own object by it.
	PropertyAttempt = "shardcat.attempt"
	// PropertyArrowSchema holds the Arrow schema that the shard was made from.
	PropertyArrowSchema = "arrow.schema"
)

// LayoutColumns: the stripe descriptors of one field lie back to back in stripe order, one for every stripe,
// field after field. All of one field are therefore between those of the first and the last stripe.
const LayoutColumns = "columns"

// LayoutStripes: the descriptors of one stripe lie back to back, their field list behind them, stripe after stripe from
// the ninth byte on. All of one stripe lie therefore between the ends of the field list before its own and of its own.
const LayoutStripes = "stripes"
