package main

import (
	"bytes"
	"fmt"
	"os"

	"gopkg.in/yaml.v3"
)

// config is the file given by --config: the global flags by their names, and policies by table.
type config struct {
	Catalog   string                       `yaml:"catalog"`
	Warehouse string                       `yaml:"warehouse"`
	Vault     string                       `yaml:"vault"`
	Progress  string                       `yaml:"progress"`
	CacheDir  string                       `yaml:"cache-dir"`
	Tables    map[string]map[string]string `yaml:"tables"`
}

// loadConfig reads the configuration file and settles the global flags: a flag wins over the environment, the
// environment over the file, the file over the library's default.
func (a *app) loadConfig() error {
	a.config = &config{}
	if a.configFile != "" {
		data, err := os.ReadFile(a.configFile)
		if err != nil {
			return usageError{err}
		}
		d := yaml.NewDecoder(bytes.NewReader(data))
		d.KnownFields(true)
		if err := d.Decode(a.config); err != nil {
			return usagef("config %s: %w", a.configFile, err)
		}
	}
	a.catalogURI = first(a.catalogURI, os.Getenv("SHARDCAT_CATALOG"), a.config.Catalog)
	a.warehouse = first(a.warehouse, os.Getenv("SHARDCAT_WAREHOUSE"), a.config.Warehouse)
	a.vault = first(a.vault, os.Getenv("SHARDCAT_VAULT"), a.config.Vault)
	a.stores.cacheDir = first(a.stores.cacheDir, os.Getenv("SHARDCAT_CACHE_DIR"), a.config.CacheDir)
	a.client = a.stores.open() // nothing was mounted before the flags were read
	switch a.progressMode {
	case "auto", "always", "never":
		return nil
	}
	return fmt.Errorf("invalid argument %q for --progress: auto, always or never", a.progressMode)
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
