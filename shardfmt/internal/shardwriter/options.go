package shardwriter

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Layout states in how many objects a shard is written.
type Layout uint8

// The layouts: a root and one object for each stripe; one object; the one or the other by the size of the data.
const (
	TwoLevel Layout = iota
	Single
	Auto
)

// AutoLimit is the number of bytes of data from which on Auto writes stripes apart: one request reads as much.
const AutoLimit = 8 << 20

const (
	// DefaultStripeRows is how many records a stripe gets at most.
	DefaultStripeRows = 1 << 20
	// DefaultStripeBytes is how many bytes the encoders of a stripe may hold.
	DefaultStripeBytes = 256 << 20
)

// Options of New; shardfmt.WriterOptions documents them.
type Options struct {
	Profile                        encode.Profile
	Layout                         Layout
	StripeRows, StripeBytes        int
	DataPrefix                     string
	CreationMin, CreationMax       uint64
	Properties, StandardProperties []*metapb.NameValuePair
	// StripeProperties are those of every stripe, FieldProperties those of fields, in every stripe, by dotted path.
	StripeProperties    meta.Bags
	FieldProperties     map[string]meta.Bags
	FieldIDs            []int
	Bloom               map[string]float64
	Pack                map[string][]string
	SparseUnions, Draft bool
	Workers             int
	// Trees requests the encodings of the DATA blocks of fields by dotted path, see encode.Options.
	Trees map[string]string
	// Opaque are the fields of byte strings to compress with an opaque dictionary, DictionaryEntries those whose value
	// dictionaries have a bound, Encodings the profiles of each further encoding of fields, all by dotted path.
	Opaque            []string
	DictionaryEntries map[string]int
	Encodings         map[string][]encode.Profile
	// Indexes are built beside the stripes.
	Indexes []Index
	// FromEnd is for an object that is read from its end, where data and metadata share it: the fields of a stripe are placed by size, the largest
	// first, and what everybody requests that lies far from the end is copied to the properties of the shard, see meta.PropertyCopies.
	FromEnd bool
	// SpillBytes, if not 0, is how many bytes of each buffer wait in memory until their stripe ends; the others go to a temporary file.
	SpillBytes int
	// Unsearched fields are those that nobody looks for values in: they get no range indexes, and no statistics but those that the reference has.
	Unsearched bool
	// LongBlocks gives numbers longer blocks, see encode.Options.
	LongBlocks bool
	// Choices, if not nil, are the encodings that small stripes of shards of the same schema have.
	Choices *column.Choices

	bloom map[uint32]float64 // Bloom by node number
	trees map[uint32]string  // Trees by node number
	pack  map[uint32][]int   // Pack by node number: indexes of children

	opaque    map[uint32]bool             // Opaque by node number
	entries   map[uint32]int              // DictionaryEntries by node number
	encodings map[uint32][]encode.Profile // Encodings by node number
	bags      map[uint32]meta.Bags        // FieldProperties by node number
}

// complete fills in the defaults.
func (o *Options) complete(s *schema.Schema) error {
	if o.StripeRows < 0 || o.StripeBytes < 0 || o.Workers < 0 {
		return errors.New("a stripe needs a positive number of records")
	}
	if o.StripeRows == 0 {
		o.StripeRows = DefaultStripeRows
	}
	if o.StripeBytes == 0 {
		o.StripeBytes = DefaultStripeBytes
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.FieldIDs != nil && len(o.FieldIDs) != int(s.Count) {
		return fmt.Errorf("%d field ids for the %d nodes of the schema", len(o.FieldIDs), s.Count)
	}
	if o.CreationMin == 0 && o.CreationMax == 0 {
		o.CreationMin = uint64(literal.Ticks(time.Now()))
		o.CreationMax = o.CreationMin
	}
	if o.CreationMin > o.CreationMax {
		return fmt.Errorf("creation times %d to %d", o.CreationMin, o.CreationMax)
	}
	if err := o.findBags(s); err != nil {
		return err
	}
	return o.findFields(s)
}

// findBags finds the fields that are to get properties, and checks all properties.
func (o *Options) findBags(s *schema.Schema) error {
	all := []meta.Properties{o.Properties, o.StandardProperties, o.StripeProperties.Standard, o.StripeProperties.Custom}
	o.bags = make(map[uint32]meta.Bags)
	for path, bags := range o.FieldProperties {
		n, err := s.Lookup(path)
		if err != nil {
			return err
		}
		o.bags[n.ID] = bags
		all = append(all, bags.Standard, bags.Custom)
	}
	for _, bag := range all {
		if err := bag.Check(); err != nil {
			return err
		}
	}
	return nil
}

// findFields finds the fields that are to get a Bloom filter, and those whose encodings are requested.
func (o *Options) findFields(s *schema.Schema) error {
	o.bloom = make(map[uint32]float64)
	for path, fpp := range o.Bloom {
		n, err := s.Lookup(path)
		if err != nil {
			return err
		}
		o.bloom[n.ID] = fpp
	}
	o.trees = make(map[uint32]string)
	for path, tree := range o.Trees {
		n, err := s.Lookup(path)
		if err != nil {
			return err
		}
		o.trees[n.ID] = tree
	}
	if err := o.findGroups(s); err != nil {
		return err
	}
	return o.findForms(s)
}

// findForms finds the fields that are to be stored in forms that they do not have by themselves.
func (o *Options) findForms(s *schema.Schema) error {
	o.opaque = make(map[uint32]bool)
	for _, path := range o.Opaque {
		n, err := s.Lookup(path)
		if err != nil {
			return err
		}
		if !column.IsBytes(n) {
			return fmt.Errorf("field %q of type %s: opaque dictionaries are for byte strings", path, n.TypeName())
		}
		o.opaque[n.ID] = true
	}
	if err := o.findDictionaries(s); err != nil {
		return err
	}
	o.encodings = make(map[uint32][]encode.Profile)
	for path, profiles := range o.Encodings {
		n, err := s.Lookup(path)
		if err != nil {
			return err
		}
		if len(n.Children) > 0 || n.Basic == schema.Unit {
			return fmt.Errorf("field %q of type %s: alternative encodings are for values without children", path, n.TypeName())
		}
		o.encodings[n.ID] = profiles
	}
	return nil
}

// findDictionaries finds the fields whose value dictionaries have a bound.
func (o *Options) findDictionaries(s *schema.Schema) error {
	o.entries = make(map[uint32]int)
	for path, entries := range o.DictionaryEntries {
		n, err := s.Lookup(path)
		switch {
		case err != nil:
			return err
		case !column.IsBytes(n) || n.IsDecimal():
			return fmt.Errorf("field %q of type %s: value dictionaries are written for byte strings", path, n.TypeName())
		case o.opaque[n.ID]:
			return fmt.Errorf("field %q: blocks of codes can't be compressed with an opaque dictionary; choose one of the two", path)
		case entries < 1:
			return fmt.Errorf("field %q: value dictionaries of %d entries", path, entries)
		}
		o.entries[n.ID] = entries
	}
	return nil
}

// findGroups finds the structs that are stored as packed groups, and their members: all children that can be one if none is
// named.
func (o *Options) findGroups(s *schema.Schema) error {
	o.pack = make(map[uint32][]int)
	for path, names := range o.Pack {
		n, err := s.Lookup(path)
		if err != nil {
			return err
		}
		if n.Basic != schema.Struct {
			return fmt.Errorf("packed group %s: expected a Struct, not %s", path, n.TypeName())
		}
		if o.pack[n.ID], err = members(n, names); err != nil {
			return fmt.Errorf("packed group %s: %w", path, err)
		}
	}
	return nil
}

// members gives the children of a struct that are named, all that can be in a packed group if none is.
func members(n *schema.Node, names []string) ([]int, error) {
	var out []int
	for i, c := range n.Children {
		if len(names) == 0 && column.Packable(c) {
			out = append(out, i)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(n.Children, func(c *schema.Node) bool { return c.Name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("the struct has no field %q", name)
		case !column.Packable(n.Children[i]):
			return nil, fmt.Errorf("field %q: a %s can't be in a packed group", name, n.Children[i].TypeName())
		case slices.Contains(out, i):
			return nil, fmt.Errorf("field %q is listed twice", name)
		}
		out = append(out, i)
	}
	if len(out) == 0 {
		return nil, errors.New("no field of the struct can be a member")
	}
	return out, nil
}

// stats gives the statistics options of a node.
func (o *Options) stats(n *schema.Node) stats.Options {
	so := stats.Options{Plain: o.Profile == encode.Plain, NoSeed: o.Draft, Reference: o.Unsearched}
	if fpp, ok := o.bloom[n.ID]; ok {
		so.Bloom, so.FPP = stats.BloomAlways, fpp
	} else {
		hintedStats(n, &so)
	}
	return so
}

// customProperties are the shard's custom properties with those of our own.
func (o *Options) customProperties(s *schema.Schema) []*metapb.NameValuePair {
	out := meta.Properties(slices.DeleteFunc(slices.Clone(o.Properties), func(p *metapb.NameValuePair) bool {
		return p.GetName() == meta.PropertyRequired || p.GetName() == meta.PropertyCopies // what another shard reported of its values and bytes
	}))
	if o.FieldIDs != nil {
		out = append(out, meta.Pair(meta.PropertyFieldIDs, meta.Text(meta.FormatFieldIDs(o.FieldIDs))))
	}
	if required := s.Required(); len(required) > 0 {
		out = append(out, meta.Pair(meta.PropertyRequired, meta.Text(meta.FormatRequired(required))))
	}
	return out
}
