// Package caturi reads the URIs of catalogs and what is given for their warehouses: which catalog a URI names, the URI without its secrets, the one form in
// which two are compared, and whether a warehouse is a name that only a server knows. It makes no requests.
package caturi

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// IsREST reports whether a URI is that of an Iceberg REST catalog.
func IsREST(uri string) bool {
	return strings.HasPrefix(uri, "rest+http://") || strings.HasPrefix(uri, "rest+https://")
}

// Redact takes credentials and options out of a catalog URI. Of one that is not understood only the scheme is
// left: a mistyped URI may have its password anywhere.
func Redact(uri string) string {
	scheme, rest, ok := strings.Cut(uri, ":")
	u, err := url.Parse(uri)
	switch {
	case !ok:
		return "…"
	case scheme == "sqlite":
		path, _, _ := strings.Cut(rest, "?")
		return "sqlite:" + path
	case err != nil || u.Host == "" || strings.Contains(u.Host+u.Path, "@"):
		return scheme + ":…"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	u.Opaque = secretSetting.ReplaceAllString(u.Opaque, "$1=…")
	return u.String()
}

// secretSetting is a secret in a list of settings, as in "postgres:user=u password=p".
var secretSetting = regexp.MustCompile(`(?i)([a-z_]*(?:pass|pwd|secret|token|key|credential)[a-z_]*)(?:=|%3d)('[^']*'?|"[^"]*"?|[^ ]*)`)

// Canonical is an identity in the one form in which owners are compared: rest+http://h, rest+http://h:80 and
// rest+http://H/ are one catalog.
func Canonical(identity string) string {
	u, err := url.Parse(identity)
	if err != nil || u.Host == "" {
		return identity
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Scheme == "postgresql" {
		u.Scheme = "postgres"
	}
	standard := map[string]string{"rest+http": "80", "rest+https": "443", "postgres": "5432"}[u.Scheme]
	if u.Port() == standard {
		u.Host = strings.TrimSuffix(u.Host, ":"+standard)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String()
}

// placeSchemes are those of URLs that report where a warehouse lies. Anything else that has a colon is a name that a REST catalog
// knows: an ARN, Glue's ID:CATALOG/BUCKET, BigLake's bl://….
var placeSchemes = []string{
	"file", "mem", "http", "https", "s3", "s3a", "s3n", "gs", "gcs", "az", "azblob", "abfs", "abfss", "wasb", "wasbs", "azure",
}

// IsWarehouseName distinguishes a name that only a REST catalog knows from a URL and from a path, which begins with / . ~ or a drive.
func IsWarehouseName(warehouse string) bool {
	scheme, rest, ok := strings.Cut(warehouse, ":")
	switch {
	case warehouse == "" || strings.ContainsAny(warehouse[:1], "/.~") || strings.Contains(warehouse, "\\"):
		return false
	case !ok:
		return true
	case len(scheme) == 1: // a drive
		return false
	}
	return !slices.Contains(placeSchemes, strings.ToLower(scheme)) || !strings.HasPrefix(rest, "/")
}

// WarehouseForServer is the name of a warehouse that is sent to a server: a name as it is, a URL as it was typed but without its options, and
// of a path its canonical URL.
func WarehouseForServer(typed, canonical string) string {
	if IsWarehouseName(typed) {
		return typed
	}
	if !strings.Contains(typed, "://") {
		return canonical
	}
	plain, _, _ := strings.Cut(typed, "?")
	return plain
}
