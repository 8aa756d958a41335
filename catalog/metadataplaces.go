package catalog

import (
	"strings"

	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/urlresolve"
)

// metadataPlaces are where the files of a table's metadata may lie: the warehouse, the folder of the metadata file that the catalog
// names and the one around it, and in stores other than the local file system the whole buckets of these and of the vault.
func (c *Catalog) metadataPlaces(metadata string) (places []urlresolve.Prefix) {
	folder := metadataio.CanonicalURL(metadata)
	folder = folder[:strings.LastIndexByte(folder, '/')+1]
	around := strings.TrimSuffix(strings.TrimSuffix(folder, "/"), "/metadata")
	for _, place := range []string{c.warehouse, strings.TrimSuffix(folder, "/"), around, c.vault} {
		if place == "" {
			continue
		}
		at, err := urlresolve.Parse(place + "/")
		switch {
		case err != nil:
			continue
		case at.Scheme != "file":
			places = append(places, urlresolve.Prefix{Scheme: at.Scheme, Bucket: at.Bucket})
			continue
		}
		if p, err := urlresolve.ParsePrefix(place); err == nil {
			places = append(places, p)
		}
	}
	return places
}
