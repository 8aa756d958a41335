package compaction

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/internal/literal"
)

// PropertyPrefix is put before a setting's name where it stands in the properties of a table or a namespace.
const PropertyPrefix = "shardcat.compaction."

// rules are all that settings say: the policy, and what only a service reads.
type rules struct {
	Policy
	upkeep
}

// setting is one name that users write.
type setting struct {
	name string
	// means is what the setting states, for the help of its flag.
	means string
	set   func(*rules, string) error
	// text is the value as set reads it.
	text func(*rules) string
	// isBool means that the value is true or false.
	isBool bool
}

// policySettings make up a Policy.
var policySettings = []setting{
	numberOf("target-records", "target number of live records of a merged shard", func(p *Policy) *int64 { return &p.TargetRecords }),
	numberOf("target-size", "target size of a merged shard in stored bytes", func(p *Policy) *int64 { return &p.TargetSize }),
	shareOf("min-size-ratio", "skip shards that have reached this share of a target", func(p *Policy) *float64 { return &p.MinSizeRatio }),
	shareOf("max-size-ratio", "maximum size of a merged shard, as a multiple of the target", func(p *Policy) *float64 { return &p.MaxSizeRatio }),
	numberOf("max-rows", "maximum number of records of a merged shard, deleted ones included", func(p *Policy) *int64 { return &p.MaxRows }),
	countOf("min-inputs", "minimum number of shards per merge", func(p *Policy) *int { return &p.MinInputs }),
	countOf("max-inputs", "maximum number of shards per merge", func(p *Policy) *int { return &p.MaxInputs }),
	{"max-creation-range", "maximum time between the first and last record of a merged shard, auto or none",
		func(r *rules, text string) (err error) { r.MaxCreationRange, err = parseRange(text); return err },
		func(r *rules) string { return rangeText(r.MaxCreationRange) }, false},
	{"lookback", "skip shards older than this age, or never",
		func(r *rules, text string) (err error) { r.Lookback, err = parseLookback(text); return err },
		func(r *rules) string { return lookbackText(r.Lookback) }, false},
	textOf("where", "merge only shards whose bounds prove that all rows match this filter", func(p *Policy) *string { return &p.Where }),
	numberOf("max-stripes", "maximum number of stripes of a merged shard", func(p *Policy) *int64 { return &p.MaxStripes }),
	numberOf("max-metadata-bytes", "maximum number of bytes of metadata of a merged shard", func(p *Policy) *int64 { return &p.MaxMetadataBytes }),
	numberOf("max-objects", "maximum number of objects of a merged shard, those of indexes not counted", func(p *Policy) *int64 { return &p.MaxObjects }),
	allowedUnless("allow-concat", "whether shards may be concatenated", func(p *Policy) *bool { return &p.NoConcat }),
	allowedUnless("allow-pack", "whether data may be copied into one object without decoding it", func(p *Policy) *bool { return &p.NoPack }),
	allowedUnless("allow-rebuild", "whether shards may be rewritten", func(p *Policy) *bool { return &p.NoRebuild }),
	numberOf("pack-objects", "minimum number of small objects of a shard for its data to be copied into one", func(p *Policy) *int64 { return &p.PackObjects }),
	shareOf("rebuild-deleted-ratio", "minimum share of deleted records for a shard to be rewritten", func(p *Policy) *float64 { return &p.RebuildDeletedRatio }),
	numberOf("rebuild-stripes", "minimum number of small stripes for a shard to be rewritten", func(p *Policy) *int64 { return &p.RebuildStripes }),
	textOf("order", "columns that a rebuild sorts by, as in \"ts desc, id\"", func(p *Policy) *string { return &p.Order }),
	{"max-overlap-depth", "maximum number of shards at the target with overlapping values of the order's first column, or none",
		func(r *rules, text string) (err error) { r.MaxOverlapDepth, err = parseDepth(text); return err },
		func(r *rules) string { return depthText(r.MaxOverlapDepth) }, false},
	numberOf("max-bytes-per-run", "maximum number of bytes of data that one plan moves, 0 for no limit", func(p *Policy) *int64 { return &p.MaxBytesPerRun }),
	countOf("concurrency", "maximum number of groups of a table processed concurrently", func(p *Policy) *int { return &p.Concurrency }),
	whether("tagged", "whether shards with standard properties are merged", func(p *Policy) *bool { return &p.Tagged }),
	whether("external", "whether adopted shards are merged", func(p *Policy) *bool { return &p.External }),
}

func numberOf(name, means string, at func(*Policy) *int64) setting {
	return setting{name, means,
		func(r *rules, text string) (err error) { *at(&r.Policy), err = literal.ParseSize(text); return err },
		func(r *rules) string { return strconv.FormatInt(*at(&r.Policy), 10) }, false}
}

func countOf(name, means string, at func(*Policy) *int) setting {
	return setting{name, means,
		func(r *rules, text string) (err error) {
			if *at(&r.Policy), err = strconv.Atoi(text); err == nil && *at(&r.Policy) == 0 {
				err = errors.New("must be above 0")
			}
			return err
		},
		func(r *rules) string { return strconv.Itoa(*at(&r.Policy)) }, false}
}

func shareOf(name, means string, at func(*Policy) *float64) setting {
	return setting{name, means,
		func(r *rules, text string) (err error) {
			if *at(&r.Policy), err = strconv.ParseFloat(text, 64); err == nil && *at(&r.Policy) == 0 {
				err = errors.New("must be above 0")
			}
			return err
		},
		func(r *rules) string { return strconv.FormatFloat(*at(&r.Policy), 'g', -1, 64) }, false}
}

func textOf(name, means string, at func(*Policy) *string) setting {
	return setting{name, means,
		func(r *rules, text string) error { *at(&r.Policy) = text; return nil },
		func(r *rules) string { return *at(&r.Policy) }, false}
}

func whether(name, means string, at func(*Policy) *bool) setting {
	return setting{name, means,
		func(r *rules, text string) (err error) { *at(&r.Policy), err = strconv.ParseBool(text); return err },
		func(r *rules) string { return strconv.FormatBool(*at(&r.Policy)) }, true}
}

// allowedUnless is a setting that states the opposite of its member.
func allowedUnless(name, means string, at func(*Policy) *bool) setting {
	return setting{name, means,
		func(r *rules, text string) error {
			allowed, err := strconv.ParseBool(text)
			*at(&r.Policy) = !allowed && err == nil
			return err
		},
		func(r *rules) string { return strconv.FormatBool(!*at(&r.Policy)) }, true}
}

// parseRange reads a creation range: a duration, "auto" (0) or "none" (negative).
func parseRange(text string) (time.Duration, error) {
	switch text {
	case "auto":
		return 0, nil
	case "none":
		return -1, nil
	}
	d, err := literal.ParseAge(text)
	if err == nil && d == 0 {
		err = errors.New("must be a positive duration, auto or none")
	}
	return d, err
}

func rangeText(d time.Duration) string {
	switch {
	case d == 0:
		return "auto"
	case d < 0:
		return "none"
	}
	return d.String()
}

// parseLookback reads an age; "never" is 0.
func parseLookback(text string) (time.Duration, error) {
	if text == "never" {
		return 0, nil
	}
	return literal.ParseAge(text)
}

func lookbackText(d time.Duration) string {
	if d == 0 {
		return "never"
	}
	return d.String()
}

// parseDepth reads a number of shards; "none" is 0.
func parseDepth(text string) (int, error) {
	if text == "none" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n == 0 {
		err = errors.New("must be above 0, or none")
	}
	return n, err
}

func depthText(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

// settingNamed finds a setting among all, ErrPolicy if there is none.
func settingNamed(name string) (*setting, error) {
	for _, s := range allSettings {
		if s.name == name {
			return &s, nil
		}
	}
	return nil, fmt.Errorf("%w: unknown setting %q; known are %s", ErrPolicy, name, strings.Join(names(allSettings), ", "))
}

func names(settings []setting) []string {
	out := make([]string, len(settings))
	for i, s := range settings {
		out[i] = s.name
	}
	return out
}
