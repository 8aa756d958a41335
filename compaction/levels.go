package compaction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog"
)

// Level is one of the places where settings of a table stand.
type Level struct {
	// Source is the place as people name it: "table", "namespace default", "catalog (file)".
	Source string
	// Settings by their names.
	Settings map[string]string
}

// Overrides are settings that stand outside the catalog, in a file say: by the full name of a table, by a namespace
// ("web.*"), or for the whole catalog ("*").
type Overrides map[string]map[string]string

// Check checks all names and values: ErrPolicy.
func (o Overrides) Check() error {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if err := (Level{key, o[key]}).Check(); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// Levels are all places where settings of a table stand, the weakest first: the catalog, the namespaces from the outermost on, the
// table. In each of them an override goes over what the catalog keeps as properties.
func (o Overrides) Levels(ctx context.Context, t *catalog.Table) ([]Level, error) {
	levels, err := namespaceLevels(ctx, t.Catalog(), t.Name().Namespace, o)
	if err != nil {
		return nil, err
	}
	return levelsBelow(t, levels, o), nil
}

// levelsBelow adds those of a table to those above it.
func levelsBelow(t *catalog.Table, above []Level, o Overrides) []Level {
	levels := append(slices.Clip(above), Level{"table", settingsOf(t.Properties())})
	return appendOverride(levels, o, t.Name().String(), "table (file)")
}

// NamespaceLevels are the places that a table in the namespace inherits from.
func (o Overrides) NamespaceLevels(ctx context.Context, c *catalog.Catalog, namespace string) ([]Level, error) {
	if _, err := c.NamespaceProperties(ctx, namespace); err != nil {
		return nil, err
	}
	return namespaceLevels(ctx, c, namespace, o)
}

func namespaceLevels(ctx context.Context, c *catalog.Catalog, namespace string, o Overrides) ([]Level, error) {
	levels := appendOverride(nil, o, "*", "catalog (file)")
	if namespace == "" {
		namespace = catalog.DefaultNamespace
	}
	for end := range len(namespace) + 1 {
		if end < len(namespace) && namespace[end] != '.' {
			continue
		}
		outer := namespace[:end]
		properties, err := c.NamespaceProperties(ctx, outer)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) { // a part of a name need not be a namespace of its own
			return nil, err
		}
		if settings := settingsOf(properties); len(settings) > 0 {
			levels = append(levels, Level{"namespace " + outer, settings})
		}
		levels = appendOverride(levels, o, outer+".*", "namespace "+outer+" (file)")
	}
	return levels, nil
}

func appendOverride(levels []Level, o Overrides, key, source string) []Level {
	if len(o[key]) > 0 {
		levels = append(levels, Level{source, o[key]})
	}
	return levels
}

// settingsOf are the settings among properties.
func settingsOf(properties map[string]string) map[string]string {
	settings := map[string]string{}
	for key, value := range properties {
		if name, ok := strings.CutPrefix(key, PropertyPrefix); ok {
			settings[name] = value
		}
	}
	return settings
}

// SettingValue is one setting of a table's policy as it is in force.
type SettingValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is the Level's, "default" for none.
	Source string `json:"source"`
}

// Effective is what several levels come to.
type Effective struct {
	Policy Policy
	// Values are all settings, those of the policy first.
	Values []SettingValue
	upkeep upkeep
}

// Resolve puts levels over one another, the weakest first, and checks what comes of it: ErrPolicy.
func Resolve(levels []Level) (*Effective, error) {
	r, source := rules{upkeep: defaultUpkeep}, map[string]int{}
	for i, level := range levels {
		for _, name := range slices.Sorted(maps.Keys(level.Settings)) {
			if err := r.set(name, level.Settings[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", level.Source, err)
			}
			source[name] = i + 1
		}
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	e := &Effective{Policy: r.Policy, upkeep: r.upkeep}
	defaults := rules{Policy{}.withDefaults(), defaultUpkeep}
	for _, s := range allSettings {
		v := SettingValue{s.name, s.text(&defaults), "default"}
		if i := source[s.name]; i > 0 {
			v.Value, v.Source = levels[i-1].Settings[s.name], levels[i-1].Source
		}
		e.Values = append(e.Values, v)
	}
	return e, nil
}

// Effective resolves all levels of a table. Without overrides they are those that the catalog keeps.
func (o Overrides) Effective(ctx context.Context, t *catalog.Table) (*Effective, error) {
	above, err := namespaceLevels(ctx, t.Catalog(), t.Name().Namespace, o)
	if err != nil {
		return nil, err
	}
	return effectiveBelow(t, above, o)
}

// effectiveBelow is Overrides.Effective with the levels above the table.
func effectiveBelow(t *catalog.Table, above []Level, o Overrides) (*Effective, error) {
	e, err := Resolve(levelsBelow(t, above, o))
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name(), err)
	}
	return e, nil
}

func (r *rules) set(name, text string) error {
	s, err := settingNamed(name)
	if err != nil {
		return err
	}
	if err := s.set(r, text); err != nil {
		return fmt.Errorf("%w: %s %q: %w", ErrPolicy, name, text, err)
	}
	return nil
}

// Settings are what makes up a Policy; those that only a service reads stand beside them in properties and files.
var (
	Settings    = described(policySettings)
	allSettings = slices.Concat(policySettings, serviceSettings)
)

// Setting is one name that users write, and what it means.
type Setting struct {
	Name string
	// Meaning is in a few words, for the help of a flag.
	Meaning string
	// Bool: the value is true or false.
	Bool bool
}

func described(settings []setting) []Setting {
	out := make([]Setting, len(settings))
	for i, s := range settings {
		out[i] = Setting{s.name, s.means, s.isBool}
	}
	return out
}

// CheckProperties checks all settings among the properties of a table or a namespace: ErrPolicy.
func CheckProperties(properties map[string]string) error {
	return Level{"settings", settingsOf(properties)}.Check()
}

// Check checks the settings by themselves: ErrPolicy.
func (l Level) Check() error {
	_, err := Resolve([]Level{{"settings", l.Settings}})
	return err
}

// SetPolicy changes settings of a table's policy, by name; an empty value goes back to what the table inherits. The settings that result
// are checked together before anything is written: ErrPolicy.
func SetPolicy(ctx context.Context, t *catalog.Table, settings map[string]string) error {
	set, remove, err := changed(t.Properties(), settings)
	if err != nil {
		return err
	}
	if err := checkWhere(t, settings); err != nil {
		return err
	}
	if err := t.SetProperties(ctx, set, remove); err != nil {
		return err
	}
	noteChange(ctx, t.Catalog(), t.Name().String())
	return nil
}

// SetNamespacePolicy is SetPolicy for all tables of a namespace and those below it.
func SetNamespacePolicy(ctx context.Context, c *catalog.Catalog, namespace string, settings map[string]string) error {
	properties, err := c.NamespaceProperties(ctx, namespace)
	if err != nil {
		return err
	}
	set, remove, err := changed(properties, settings)
	if err != nil {
		return err
	}
	if err := c.SetNamespaceProperties(ctx, namespace, set, remove); err != nil {
		return err
	}
	noteChange(ctx, c, namespace+".*")
	return nil
}

// changed are the properties to set and to remove for a change of settings that may be made.
func changed(is, settings map[string]string) (set map[string]string, remove []string, err error) {
	set = map[string]string{}
	for name, value := range settings {
		key := PropertyPrefix + name
		if _, err := settingNamed(name); err != nil {
			return nil, nil, err
		}
		if value != "" {
			set[key] = value
		} else if _, ok := is[key]; ok {
			remove = append(remove, key)
		}
	}
	return set, remove, checkResult(is, set, remove)
}

// SetProperties is catalog.Table.SetProperties that checks settings of compaction among the properties, together with those that the table has:
// ErrPolicy. Running services act by the change as after SetPolicy.
func SetProperties(ctx context.Context, t *catalog.Table, set map[string]string, remove []string) error {
	if err := checkChange(t.Properties(), set, remove); err != nil {
		return err
	}
	if err := checkWhere(t, settingsOf(set)); err != nil {
		return err
	}
	if err := t.SetProperties(ctx, set, remove); err != nil {
		return err
	}
	if concernsServices(set, remove) {
		noteChange(ctx, t.Catalog(), t.Name().String())
	}
	return nil
}

// SetNamespaceProperties is SetProperties for a namespace.
func SetNamespaceProperties(ctx context.Context, c *catalog.Catalog, namespace string, set map[string]string, remove []string) error {
	is, err := c.NamespaceProperties(ctx, namespace)
	if err != nil {
		return err
	}
	if err := checkChange(is, set, remove); err != nil {
		return err
	}
	if err := c.SetNamespaceProperties(ctx, namespace, set, remove); err != nil {
		return err
	}
	if concernsServices(set, remove) {
		noteChange(ctx, c, namespace+".*")
	}
	return nil
}

// checkChange checks the settings that result of a change of properties. A change that sets none is not checked.
func checkChange(is, set map[string]string, remove []string) error {
	if len(settingsOf(set)) == 0 {
		return nil
	}
	return checkResult(is, set, remove)
}

// checkResult checks the settings that result of a change of properties.
func checkResult(is, set map[string]string, remove []string) error {
	properties := map[string]string{}
	maps.Copy(properties, is)
	for _, key := range remove {
		delete(properties, key)
	}
	maps.Copy(properties, set)
	return CheckProperties(properties)
}

// checkWhere compares a filter and an order with the columns that the table has.
func checkWhere(t *catalog.Table, settings map[string]string) error {
	p := Policy{Where: settings["where"], Order: settings["order"]}
	if _, err := newSelection(t, p); err != nil {
		return fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	return nil
}
