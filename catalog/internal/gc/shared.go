package gc

import (
	"path/filepath"
	"strings"

	"github.com/shardcat/shardcat/catalog/internal/metadataio"
)

// Registered is what a table of the catalog shares with others, if anything: folders and its UUID.
type Registered struct {
	// Name with its namespace, and with the name of the catalog where the database holds several.
	Name string
	// Metadata is the location of the current metadata file.
	Metadata string
	UUID     string
	Location string
	// Written is the property write.metadata.path, Adopted the property shardcat.adopted.
	Written string
	Adopted []string
}

// RealFolder spells a folder in one way, with a trailing slash: aliases of schemes, doubled slashes and, on a local file
// system, symbolic links are resolved.
func RealFolder(url string) string {
	url = strings.TrimRight(metadataio.CanonicalURL(strings.TrimRight(url, "/")), "/")
	path, local := strings.CutPrefix(url, "file://")
	if !local {
		scheme, rest, _ := strings.Cut(url, "://")
		return scheme + "://" + strings.Join(strings.FieldsFunc(rest, func(r rune) bool { return r == '/' }), "/") + "/"
	}
	path = filepath.Clean(path)
	missing := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return "file://" + strings.TrimRight(filepath.Join(real, missing), "/") + "/"
		}
		if at == filepath.Dir(at) {
			return "file://" + path + "/"
		}
		missing = filepath.Join(filepath.Base(at), missing)
	}
}

// Swept is a table whose folders are swept; the folders are spelled as RealFolder does.
type Swept struct {
	UUID, Location  string
	Vault, Metadata string
	// VaultOf is the vault folder of the table of a UUID.
	VaultOf func(uuid string) string
}

// Sharing names what another table has in common with t, "" for nothing.
func (r *Registered) Sharing(t *Swept) string {
	if r.UUID == t.UUID {
		return "has the UUID " + r.UUID
	}
	if slash := strings.LastIndexByte(r.Metadata, '/'); slash > 0 && RealFolder(r.Metadata[:slash]) == t.Metadata {
		return "has its metadata in " + t.Metadata
	}
	if r.UUID == "" {
		return ""
	}
	if RealFolder(strings.TrimSuffix(r.Location, "/")+"/metadata") == t.Metadata {
		return "has the location " + t.Location
	}
	if r.Written != "" && RealFolder(r.Written) == t.Metadata {
		return "has its metadata in " + t.Metadata
	}
	if RealFolder(t.VaultOf(r.UUID)) == t.Vault {
		return "has the vault folder " + t.Vault
	}
	for _, folder := range r.Adopted {
		if real := RealFolder(folder); strings.HasPrefix(real, t.Vault) || strings.HasPrefix(t.Vault, real) {
			return "has adopted the folder " + folder
		}
	}
	return ""
}
