package compaction

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// Policy says when shards should be merged and what a merged shard may look like. The zero value is valid: each
// zero member stands for its default.
type Policy struct {
	// TargetRecords and TargetSize are what a merged shard should reach, in live records and in stored bytes.
	// A shard that has reached one of them is left alone.
	TargetRecords, TargetSize int64
	// MaxRows is the most records of a merged shard, deleted ones included.
	MaxRows int64
	// MinInputs is the least number of shards that are worth a merge, MaxInputs the most of one merge.
	MinInputs, MaxInputs int
	// MaxCreationRange is the longest time between the first and the last record of a merged shard. Shards that
	// do not say when their records were created are not merged under such a limit. 0 is no limit.
	MaxCreationRange time.Duration
	// MaxStripes, MaxMetadataBytes and MaxObjects cap a merged root.
	MaxStripes, MaxMetadataBytes, MaxObjects int64
	// NoConcat and NoRebuild forbid a kind of work.
	NoConcat, NoRebuild bool
	// RebuildAll plans every shard below the target as a rebuild, whether or not it needs one.
	RebuildAll bool
	// RebuildDeletedRatio is the share of deleted records from which on a shard is rebuilt.
	RebuildDeletedRatio float64
	// RebuildStripes is the number of stripes from which on a shard of small ones is rebuilt, if that makes them
	// at least StripeGrowth times as large.
	RebuildStripes int64
	// Tagged and External admit shards with standard properties, and adopted ones.
	Tagged, External bool
}

// The defaults of a Policy.
const (
	DefaultTargetRecords = 64 << 20
	DefaultTargetSize    = 1 << 30
	DefaultMaxRows       = 128 << 20
	DefaultMinInputs     = 2
	DefaultMaxInputs     = 1000
	DefaultMaxStripes    = 10_000
	// DefaultMaxMetadataBytes: a root that large takes a second to fetch at 64 MiB/s.
	DefaultMaxMetadataBytes = 64 << 20
	// DefaultMaxObjects: readers of the reference implementation keep each object open, and 1,024 open files
	// are a usual limit.
	DefaultMaxObjects = 900
	// DefaultRebuildDeletedRatio: reading past a tenth of the rows costs less than writing the other nine.
	DefaultRebuildDeletedRatio = 0.1
	// DefaultRebuildStripes: so many small stripes cost a scan of one column as many requests.
	DefaultRebuildStripes = 64
	// StripeGrowth bounds how often a record is rewritten: stripes become at least so many times as large each time, so a
	// record is rewritten at most log₈(records of a full stripe) times, 7 times, over its life.
	StripeGrowth = 8
)

// withDefaults fills in what is zero.
func (p Policy) withDefaults() Policy {
	fill := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&p.TargetRecords, DefaultTargetRecords)
	fill(&p.TargetSize, DefaultTargetSize)
	fill(&p.MaxRows, DefaultMaxRows)
	fill(&p.MaxStripes, DefaultMaxStripes)
	fill(&p.MaxMetadataBytes, DefaultMaxMetadataBytes)
	fill(&p.MaxObjects, DefaultMaxObjects)
	fill(&p.RebuildStripes, DefaultRebuildStripes)
	if p.RebuildDeletedRatio == 0 {
		p.RebuildDeletedRatio = DefaultRebuildDeletedRatio
	}
	if p.MinInputs == 0 {
		p.MinInputs = DefaultMinInputs
	}
	if p.MaxInputs == 0 {
		p.MaxInputs = DefaultMaxInputs
	}
	return p
}

// ErrPolicy: a policy that can't be meant.
var ErrPolicy = errors.New("invalid compaction policy")

// Validate checks a policy.
func (p Policy) Validate() error {
	d := p.withDefaults()
	switch {
	case d.TargetRecords < 0 || d.TargetSize < 0 || d.MaxRows < 0 || d.MaxStripes < 0 || d.MaxMetadataBytes < 0 ||
		d.MaxObjects < 0 || d.MaxCreationRange < 0 || d.RebuildStripes < 0:
		return fmt.Errorf("%w: a limit is negative", ErrPolicy)
	case d.MinInputs < 2:
		return fmt.Errorf("%w: min-inputs is %d; a merge has 2 inputs at least", ErrPolicy, d.MinInputs)
	case !(d.RebuildDeletedRatio > 0 && d.RebuildDeletedRatio <= 1):
		return fmt.Errorf("%w: rebuild-deleted-ratio is %v; it is a share above 0 and up to 1", ErrPolicy, d.RebuildDeletedRatio)
	case d.MaxInputs < d.MinInputs:
		return fmt.Errorf("%w: max-inputs %d is less than min-inputs %d", ErrPolicy, d.MaxInputs, d.MinInputs)
	}
	return nil
}

// PropertyPrefix is put before a setting's name where it stands in a table's properties.
const PropertyPrefix = "shardcat.compaction."

// Settings are the names under which a policy is written in table properties and configuration.
var Settings = []string{
	"target-records", "target-size", "max-rows", "min-inputs", "max-inputs", "max-creation-range",
	"max-stripes", "max-metadata-bytes", "max-objects", "allow-concat", "allow-rebuild", "rebuild-deleted-ratio", "rebuild-stripes",
	"tagged", "external",
}

// PolicyOf reads the policy of a table from its properties.
func PolicyOf(properties map[string]string) (Policy, error) {
	var p Policy
	for key, text := range properties {
		name, ok := strings.CutPrefix(key, PropertyPrefix)
		if !ok || slices.Contains(ServiceSettings, name) {
			continue
		}
		if err := p.Set(name, text); err != nil {
			return Policy{}, err
		}
	}
	return p, p.Validate()
}

// Set sets one setting by name. Sizes take units ("512MiB"), times Go's ("36h") and days ("7d").
func (p *Policy) Set(name, text string) error {
	var err error
	switch name {
	case "target-records":
		p.TargetRecords, err = ParseSize(text)
	case "target-size":
		p.TargetSize, err = ParseSize(text)
	case "max-rows":
		p.MaxRows, err = ParseSize(text)
	case "min-inputs":
		p.MinInputs, err = strconv.Atoi(text)
	case "max-inputs":
		p.MaxInputs, err = strconv.Atoi(text)
	case "max-creation-range":
		p.MaxCreationRange, err = catalog.ParseAge(text)
	case "max-stripes":
		p.MaxStripes, err = ParseSize(text)
	case "max-metadata-bytes":
		p.MaxMetadataBytes, err = ParseSize(text)
	case "max-objects":
		p.MaxObjects, err = ParseSize(text)
	case "allow-concat":
		p.NoConcat, err = parseForbidden(text)
	case "allow-rebuild":
		p.NoRebuild, err = parseForbidden(text)
	case "rebuild-deleted-ratio":
		p.RebuildDeletedRatio, err = strconv.ParseFloat(text, 64)
	case "rebuild-stripes":
		p.RebuildStripes, err = ParseSize(text)
	case "tagged":
		p.Tagged, err = strconv.ParseBool(text)
	case "external":
		p.External, err = strconv.ParseBool(text)
	default:
		return fmt.Errorf("%w: no setting %q; there are %s", ErrPolicy, name, strings.Join(Settings, ", "))
	}
	if err != nil {
		return fmt.Errorf("%w: %s %q: %w", ErrPolicy, name, text, err)
	}
	return nil
}

// parseForbidden reads whether something is allowed and gives the opposite.
func parseForbidden(text string) (bool, error) {
	allowed, err := strconv.ParseBool(text)
	return !allowed && err == nil, err
}

var units = []struct {
	suffix string
	factor int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1},
}

// ParseSize reads a number with an optional unit: "512MiB", "4k".
func ParseSize(text string) (int64, error) {
	factor := int64(1)
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = strings.TrimSpace(digits), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("want a number, with a unit like MiB if it is a size")
	}
	if n < 0 || n > math.MaxInt64/factor {
		return 0, errors.New("out of range")
	}
	return n * factor, nil
}
