package shardfmt

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// Layout states in how many objects a shard is written.
type Layout uint8

// The layouts.
const (
	// TwoLevel is a root and one object for each stripe: a merge can leave the data where it is.
	TwoLevel = Layout(shardwriter.TwoLevel)
	// Single is one object.
	Single = Layout(shardwriter.Single)
	// Auto is Single for a shard whose data is smaller than 8 MiB, which one request reads, else TwoLevel.
	Auto = Layout(shardwriter.Auto)
)

var layoutNames = [...]string{TwoLevel: "two-level", Single: "single", Auto: "auto"}

// String gives the name that Set reads.
func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("layout(%d)", uint8(l))
}

// Set reads the name of a layout, as a flag does; the empty string is TwoLevel.
func (l *Layout) Set(name string) error {
	if name == "" {
		*l = TwoLevel
		return nil
	}
	for i, s := range layoutNames {
		if s == name {
			*l = Layout(i)
			return nil
		}
	}
	return fmt.Errorf("unknown layout %q: two-level, single or auto", name)
}

// Wire is the form of a shard's metadata; buffers are the same in both.
type Wire uint8

const (
	// CurrentWire is what the reference implementation reads and writes.
	CurrentWire Wire = iota
	// DraftWire are the messages as the format's book prints them. Whoever reads shards here reads both.
	DraftWire
)

// Set reads the name of a wire, as a flag does; the empty string is CurrentWire.
func (w *Wire) Set(name string) error {
	switch name {
	case "", "current":
		*w = CurrentWire
	case "draft":
		*w = DraftWire
	default:
		return fmt.Errorf("unknown wire %q: current or draft", name)
	}
	return nil
}

const (
	// DefaultStripeRows is how many records a stripe gets at most.
	DefaultStripeRows = shardwriter.DefaultStripeRows
	// DefaultStripeBytes is how many bytes the encoders of a stripe may hold.
	DefaultStripeBytes = shardwriter.DefaultStripeBytes
)

// WriterOptions of NewWriter. The zero value is valid.
type WriterOptions struct {
	// Profile of the blocks.
	Profile Profile
	// Layout of the objects.
	Layout Layout
	// StripeRows is the most records of a stripe, DefaultStripeRows if 0; StripeBytes the most bytes that are
	// held for it, DefaultStripeBytes if 0. Whichever comes first ends the stripe.
	StripeRows  int
	StripeBytes int
	// DataPrefix is where stripe objects go: a name relative to the root's folder, with the start of their
	// names ("data/ID/" puts them in a folder). Empty means beside the root, under its name. With a prefix the
	// caller answers for the root's name being new; without, an existing root is refused before any byte is
	// written.
	DataPrefix string
	// CreationMin and CreationMax are the creation times of the records, in ticks of 100 ns since 0001-01-01;
	// the time of writing if both are 0.
	CreationMin, CreationMax uint64
	// Properties and StandardProperties of the shard.
	Properties, StandardProperties []Property
	// StripeProperties are the properties of every stripe, see also Writer.SetStripeProperties; FieldProperties those of fields by
	// dotted path, which every stripe and the shard as a whole carry.
	StripeProperties Properties
	FieldProperties  map[string]Properties
	// FieldIDs are the Iceberg field ids of the nodes in the order of their numbers; none are stored if nil.
	FieldIDs []int
	// Bloom requests Bloom filters of fields by dotted path, with their target rate of false positives (0:
	// the default).
	Bloom map[string]float64
	// Pack stores structs, by dotted path, as packed groups: blocks of the named fields lie side by side, so that a record of all
	// of them is one request. No names mean all fields that can be members: those without children. Readers that don't know
	// packed groups refuse such a struct.
	Pack map[string][]string
	// Wire is the form of the metadata.
	Wire Wire
	// SparseUnions stores unions in the sparse form, which fewer readers know.
	SparseUnions bool
	// OpaqueDictionaries are the fields of byte strings, by dotted path, whose blocks are compressed by Zstd with a
	// dictionary that they share. It pays where values are alike but rarely equal, and read one at a time.
	OpaqueDictionaries []string
	// DictionaryEntries are fields of byte strings, by dotted path, with the number of distinct values that a value dictionary
	// of theirs has at most: where there are more, and dictionaries pay, the field has several in a stripe. A lookup reads
	// the one that its block names. Readers that know one dictionary a field refuse such a field.
	DictionaryEntries map[string]int
	// Encodings are further encodings of fields, by dotted path: the values are stored once more for each profile, behind
	// the shard's own, and read there if the first is damaged or not known to a reader.
	Encodings map[string][]Profile
	// Indexes are built for every stripe, in objects of their own.
	Indexes IndexSpecs
	// Workers is how many fields are encoded at the same time, the number of processors if 0.
	Workers int
	// Choices, if not nil, gives small stripes the encodings of those of earlier shards with the same cache, while they fit.
	Choices *ChoiceCache
}

// room gives the options in the terms of the package that writes.
func (o *WriterOptions) room() shardwriter.Options {
	encodings := make(map[string][]encode.Profile)
	for path, profiles := range o.Encodings {
		for _, p := range profiles {
			encodings[path] = append(encodings[path], encode.Profile(p))
		}
	}
	fields := make(map[string]meta.Bags, len(o.FieldProperties))
	for path, p := range o.FieldProperties {
		fields[path] = p.bags()
	}
	return shardwriter.Options{
		Opaque: o.OpaqueDictionaries, DictionaryEntries: o.DictionaryEntries, Encodings: encodings,
		Profile: encode.Profile(o.Profile), Layout: shardwriter.Layout(o.Layout), StripeRows: o.StripeRows, StripeBytes: o.StripeBytes,
		DataPrefix: o.DataPrefix, CreationMin: o.CreationMin, CreationMax: o.CreationMax,
		Properties: pairsOf(o.Properties), StandardProperties: pairsOf(o.StandardProperties), FieldIDs: o.FieldIDs,
		StripeProperties: o.StripeProperties.bags(), FieldProperties: fields,
		Bloom: o.Bloom, Pack: o.Pack, Draft: o.Wire == DraftWire, SparseUnions: o.SparseUnions, Workers: o.Workers,
	}
}
