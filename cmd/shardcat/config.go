package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/didyoumean"
	"github.com/shardcat/shardcat/shardfmt"
)

// config is the file given by --config: the global flags by their names, and policies by table.
type config struct {
	// tables are settings of policies by table, namespace and for the whole catalog.
	tables compaction.Overrides
	// stores are options of buckets and folders, nil for none.
	stores *blobio.Stores
}

// tablesKey holds the policies and storesKey the options of stores; every other key is the name of a global flag.
const (
	tablesKey = "tables"
	storesKey = "stores"
)

// noSetting are global flags that neither the environment nor a file can set. A file names no other file either.
var noSetting = []string{"help", "version"}

// loadConfig settles the global flags: a flag wins over the environment (SHARDCAT_ and its name), the environment
// over the file, the file over the default.
func (a *app) loadConfig(root *cobra.Command) error {
	flags := root.PersistentFlags()
	if err := shardfmt.CheckCPU(); err != nil {
		return usageError{err}
	}
	a.given = changed(flags)
	if err := fromEnvironment(flags); err != nil {
		return err
	}
	fromEnvironment := changed(flags)
	var err error
	if a.config, err = readConfig(a.configFile, flags); err != nil {
		return usagef("--config %s: %w", a.configFile, err)
	}
	if slices.Contains(a.given, "config") {
		a.given = append(a.given, slices.DeleteFunc(changed(flags), func(name string) bool { return slices.Contains(fromEnvironment, name) })...)
	}
	if flags.Changed("cache-disk") && a.stores.cacheDir == "" {
		return usagef("--cache-disk needs --cache-dir")
	}
	client, err := a.stores.open((&waitReporter{a: a}).report, a.unsafeWrites, a.config.stores)
	if err != nil {
		return err
	}
	a.client = client // nothing was mounted before the flags were read
	a.mountNamed()
	if a.catalogTimeout < 0 {
		return usagef("--catalog-timeout must not be negative")
	}
	return a.checkProgress()
}

// changed are the flags that have been set. FlagSet.Visit is no help: flags set behind a subcommand are marked as set in the
// flags of the subcommand alone, though they are the same flags.
func changed(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			names = append(names, f.Name)
		}
	})
	return names
}

// fromEnvironment sets the flags that were not given and that the environment has.
func fromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := environmentName(f.Name)
		text := os.Getenv(name)
		if err != nil || f.Changed || text == "" || slices.Contains(noSetting, f.Name) {
			return
		}
		if setErr := flags.Set(f.Name, text); setErr != nil {
			err = usagef("%s: %w", name, plainFlagError(setErr))
		}
	})
	return err
}

// environmentName is the variable that stands in for a global flag.
func environmentName(flag string) string {
	return "SHARDCAT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readConfig reads the file and sets the flags that are not set yet. Every key means something or is refused.
func readConfig(file string, flags *pflag.FlagSet) (*config, error) {
	c := &config{}
	if file == "" {
		return c, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var keys map[string]yaml.Node
	if err := yaml.NewDecoder(f).Decode(&keys); err != nil && !errors.Is(err, io.EOF) { // an empty file states nothing
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		value := keys[key]
		if err := c.set(key, &value, flags); err != nil {
			return nil, fmt.Errorf("line %d: %w", value.Line, err)
		}
	}
	return c, nil
}

// readPolicies reads what the file states about tables, and nothing else of it: the flags of a running program stay.
func readPolicies(file string) (compaction.Overrides, error) {
	flags := &cobra.Command{}
	new(app).addGlobalFlags(flags)
	c, err := readConfig(file, flags.PersistentFlags())
	if err != nil {
		return nil, err
	}
	return c.tables, nil
}

// set takes over one key of the file.
func (c *config) set(key string, value *yaml.Node, flags *pflag.FlagSet) error {
	f := flags.Lookup(key)
	switch {
	case key == tablesKey:
		return c.setTables(value)
	case key == storesKey:
		return c.setStores(value)
	case f == nil || key == "config" || slices.Contains(noSetting, key):
		return fmt.Errorf("unknown key %q; known are %s", key, didyoumean.Names(key, configKeys(flags)))
	case value.Kind != yaml.ScalarNode:
		return fmt.Errorf("%s: expected a single value", key)
	case f.Changed:
		return nil
	}
	if err := flags.Set(key, value.Value); err != nil {
		return fmt.Errorf("%s: %w", key, plainFlagError(err))
	}
	return nil
}

// configKeys are the keys that a file may have.
func configKeys(flags *pflag.FlagSet) []string {
	keys := []string{tablesKey, storesKey}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" && !slices.Contains(noSetting, f.Name) {
			keys = append(keys, f.Name)
		}
	})
	return keys
}

// setTables reads the policies and checks them, so that a mistake shows at once and not at the first compaction.
func (c *config) setTables(value *yaml.Node) error {
	var byName map[string]map[string]string
	if err := value.Decode(&byName); err != nil {
		return fmt.Errorf("%s: expected settings by table name: %w", tablesKey, err)
	}
	c.tables = compaction.Overrides{}
	for text, settings := range byName {
		key, err := tablesKeyOf(text)
		if err != nil {
			return fmt.Errorf("%s: %w", tablesKey, err)
		}
		c.tables[key] = settings
	}
	if err := c.tables.Check(); err != nil {
		return fmt.Errorf("%s: %w", tablesKey, err)
	}
	return nil
}

// setStores reads the options of buckets and folders.
func (c *config) setStores(value *yaml.Node) error {
	var byPrefix map[string]map[string]string
	if err := value.Decode(&byPrefix); err != nil {
		return fmt.Errorf("%s: expected options by URL of a bucket or folder: %w", storesKey, err)
	}
	var err error
	if c.stores, err = blobio.ParseStores(byPrefix); err != nil {
		return fmt.Errorf("%s: %w", storesKey, err)
	}
	return nil
}

// tablesKeyOf is the full name of a table; a namespace ("web.*") and all tables ("*") stay as they are typed.
func tablesKeyOf(text string) (string, error) {
	if text == "*" {
		return text, nil
	}
	namespace, ok := strings.CutSuffix(text, ".*")
	if ok {
		_, err := catalog.ParseName(namespace + ".t") // the rules of names, with any table
		return text, err
	}
	name, err := catalog.ParseName(text)
	return name.String(), err
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
