package compaction

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/catalog"
)

// SettingValue is one setting of a table's policy as it is in force.
type SettingValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is "default" or "table".
	Source string `json:"source"`
}

// CheckProperties checks all settings among a table's properties, those that only a service reads included: ErrPolicy.
func CheckProperties(properties map[string]string) error {
	if _, err := PolicyOf(properties); err != nil {
		return err
	}
	_, err := upkeepOf(properties)
	return err
}

// CheckSettings checks settings by their names, those that only a service reads included: ErrPolicy.
func CheckSettings(settings map[string]string) error {
	properties := map[string]string{}
	for name, value := range settings {
		properties[PropertyPrefix+name] = value
	}
	return CheckProperties(properties)
}

// Values are all settings of a table's policy in the order of Settings and ServiceSettings: what its properties say, and the defaults.
func Values(properties map[string]string) ([]SettingValue, error) {
	if err := CheckProperties(properties); err != nil {
		return nil, err
	}
	defaults, names := Policy{}.withDefaults(), slices.Concat(Settings, ServiceSettings)
	out := make([]SettingValue, len(names))
	for i, name := range names {
		out[i] = SettingValue{Name: name, Value: defaults.text(name), Source: "default"}
		if text, ok := properties[PropertyPrefix+name]; ok {
			out[i].Value, out[i].Source = text, "table"
		}
	}
	return out, nil
}

// text is the value of a setting as Set reads it.
func (p Policy) text(name string) string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch name {
	case "target-records":
		return number(p.TargetRecords)
	case "target-size":
		return number(p.TargetSize)
	case "max-rows":
		return number(p.MaxRows)
	case "min-inputs":
		return strconv.Itoa(p.MinInputs)
	case "max-inputs":
		return strconv.Itoa(p.MaxInputs)
	case "max-creation-range":
		return p.MaxCreationRange.String()
	case "max-stripes":
		return number(p.MaxStripes)
	case "max-metadata-bytes":
		return number(p.MaxMetadataBytes)
	case "max-objects":
		return number(p.MaxObjects)
	case "allow-concat":
		return strconv.FormatBool(!p.NoConcat)
	case "allow-rebuild":
		return strconv.FormatBool(!p.NoRebuild)
	case "rebuild-deleted-ratio":
		return strconv.FormatFloat(p.RebuildDeletedRatio, 'g', -1, 64)
	case "rebuild-stripes":
		return number(p.RebuildStripes)
	case "tagged":
		return strconv.FormatBool(p.Tagged)
	case "external":
		return strconv.FormatBool(p.External)
	case "schedule":
		return DefaultEvery.String()
	case "jitter":
		return strconv.FormatFloat(DefaultJitter, 'g', -1, 64)
	case "pause":
		return "false"
	case "expire":
		return catalog.DefaultExpireAge.String()
	case "collect":
		return "never"
	}
	return ""
}

// SetPolicy changes settings of a table's policy, by name; an empty value goes back to the default. The policy that results is
// checked as a whole before anything is written: ErrPolicy.
func SetPolicy(ctx context.Context, t *catalog.Table, settings map[string]string) error {
	properties := maps.Clone(t.Properties())
	set, remove := map[string]string{}, []string(nil)
	for name, value := range settings {
		key := PropertyPrefix + name
		if value == "" {
			if err := new(Policy).known(name); err != nil {
				return err
			}
			remove = append(remove, key)
			delete(properties, key)
			continue
		}
		set[key], properties[key] = value, value
	}
	if err := CheckProperties(properties); err != nil {
		return err
	}
	return t.SetProperties(ctx, set, remove)
}

// known refuses a name that is no setting.
func (p *Policy) known(name string) error {
	if p.withDefaults().text(name) == "" {
		return fmt.Errorf("%w: no setting %q; there are %s", ErrPolicy, name, strings.Join(slices.Concat(Settings, ServiceSettings), ", "))
	}
	return nil
}
