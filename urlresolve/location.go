package urlresolve

import (
	"net/url"
	"slices"
	"strings"
)

// Location is an object, a folder or a bucket of some store, taken apart.
type Location struct {
	// Scheme in canonical spelling.
	Scheme string
	// Bucket is the authority: see Prefix.
	Bucket string
	// Path is what follows the authority's slash, percent-escaped.
	Path string
}

// aliases of schemes that differ by name alone.
var aliases = map[string]string{"s3a": "s3", "s3n": "s3", "gcs": "gs"}

// Parse takes an absolute URL apart and brings it into its canonical spelling:
//
//	s3a://b/k, s3n://b/k                                 s3://b/k
//	gcs://b/k                                            gs://b/k
//	wasb(s)://c@a.blob.core.windows.net/k                abfss://c@a.dfs.core.windows.net/k
//	abfs://c@a.dfs.core.windows.net/k                    the same
//	abfss://c@a.z01.blob.storage.azure.net/k             abfss://c@a.z01.dfs.storage.azure.net/k
//	https://onelake.blob.fabric.microsoft.com/ws/k       abfss://ws@onelake.dfs.fabric.microsoft.com/k
//	https://a.blob.core.windows.net/c/k (and .dfs.)      the same
//
// It refuses what isn't in the normal form of the WHATWG URL standard byte for byte:
// user and password, query, fragment, dot segments, upper-case schemes, default ports, unescaped blanks; and
// the addresses of metadata services in any spelling.
//
// An escape within a key, such as %2F of the key a%2Fb in file:///a%252Fb, is kept; references of shards may hold none (Resolve).
func Parse(raw string) (Location, error) { return parse(raw, false) }

func parse(raw string, reference bool) (Location, error) {
	if err := checkText(raw); err != nil {
		return Location{}, err
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !hasScheme(raw) || !isLower(scheme) {
		return Location{}, refuse(raw, "not an absolute URL in canonical spelling")
	}
	authority, path, slash := strings.Cut(rest, "/")
	if !slash {
		return Location{}, refuse(raw, "no path after the bucket")
	}
	if path != "" {
		if err := checkPath(raw, path, reference); err != nil {
			return Location{}, err
		}
	}
	if normalPath(path) != path {
		return Location{}, refuse(raw, "characters that must be escaped")
	}
	if to, ok := aliases[scheme]; ok {
		scheme = to
	}
	return canonicalAuthority(raw, Location{Scheme: scheme, Bucket: authority, Path: path})
}

func canonicalAuthority(raw string, l Location) (Location, error) {
	switch l.Scheme {
	case "file":
		if l.Bucket != "" {
			return Location{}, refuse(raw, "a file URL with a host")
		}
		return l, nil
	case "abfs", "abfss", "wasb", "wasbs":
		return azureByContainer(raw, l)
	case "http", "https":
		if m := azureHost().FindStringSubmatch(l.Bucket); m != nil && l.Scheme == "https" {
			return azureByHost(raw, l, m)
		}
		return l, checkHost(raw, l.Scheme, l.Bucket)
	}
	return l, checkBucket(raw, l.Bucket)
}

// azureDomains are those of Microsoft below which storage accounts lie: the public cloud first, the sovereign ones,
// DNS zones and OneLake. Tokens and signatures are sent to hosts below them, and to no other host unless it was
// named as the endpoint: a reference in a shard must not be able to request them.
var azureDomains = []string{"core.windows.net", "core.chinacloudapi.cn", "core.usgovcloudapi.net", "core.cloudapi.de",
	"storage.azure.net", oneLake}

// IsAzureDomain reports whether a domain is one of Microsoft's below which storage accounts lie, to which tokens and signatures may be sent.
func IsAzureDomain(domain string) bool { return slices.Contains(azureDomains, domain) }

const oneLake = "fabric.microsoft.com"

// isAzureContainer reports whether a container of an account below a domain may have this name.
func isAzureContainer(name, domain string) bool {
	if domain == oneLake {
		return oneLakeBucket().MatchString(name)
	}
	return azureBucket().MatchString(name)
}

var (
	// An account may be followed by its DNS zone ("account.z01"). OneLake is one account, also by region.
	azureHost = pattern(`^([a-z0-9]{3,24}(?:\.z[0-9]{1,3})?|(?:[a-z0-9-]{1,40}-)?onelake)\.(?:blob|dfs)\.(` +
		strings.ReplaceAll(strings.Join(azureDomains, "|"), ".", `\.`) + `)$`)
	azureBucket = pattern(`^(\$web|\$root|\$logs|[a-z0-9](?:-?[a-z0-9]){0,62})$`)
	// oneLakeBucket is a workspace of OneLake, by its name or its id.
	oneLakeBucket = pattern(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,254}[A-Za-z0-9])?$`)
)

func azureByContainer(raw string, l Location) (Location, error) {
	container, host, _ := strings.Cut(l.Bucket, "@")
	m := azureHost().FindStringSubmatch(host)
	if m == nil || !isAzureContainer(container, m[2]) {
		return Location{}, refuse(raw, "not of the form container@account.dfs.core.windows.net")
	}
	return azure(container, m, l.Path), nil
}

func azureByHost(raw string, l Location, m []string) (Location, error) {
	container, path, slash := strings.Cut(l.Path, "/")
	if !slash || !isAzureContainer(container, m[2]) {
		return Location{}, refuse(raw, "no container in the path")
	}
	return azure(container, m, path), nil
}

func azure(container string, m []string, path string) Location {
	return Location{Scheme: "abfss", Bucket: container + "@" + m[1] + ".dfs." + m[2], Path: path}
}

// String is the canonical URL.
func (l Location) String() string { return l.Scheme + "://" + l.Bucket + "/" + l.Path }

// Root is the canonical URL of the whole bucket, with its trailing slash.
func (l Location) Root() string { return l.Scheme + "://" + l.Bucket + "/" }

// Key is the path unescaped: the object's key in its bucket.
func (l Location) Key() string {
	key, err := url.PathUnescape(l.Path)
	if err != nil {
		return l.Path // Parse let no malformed escape through
	}
	return key
}

func (l Location) container() string {
	return l.Root() + l.Path[:strings.LastIndexByte(l.Path, '/')+1]
}

// EscapeKey is the inverse of Location.Key: a key as the path of a URL.
func EscapeKey(key string) string {
	var b strings.Builder
	b.Grow(len(key))
	for i := 0; i < len(key); i++ {
		if c := key[i]; isUnescaped(c) {
			b.WriteByte(c)
		} else {
			writeEscape(&b, c)
		}
	}
	return b.String()
}

func isUnescaped(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("-_.~!$&'()*+,;=:@/", c) >= 0
}

// Redact makes a URL or reference fit for a log: it keeps scheme, host and path, and drops user, password,
// query and fragment. It works on any text and errs on the side of dropping.
func Redact(raw string) string {
	if len(raw) > maxLength { // no reference; where its secrets end is not worth finding out
		return schemeStart().FindString(raw[:32]) + "…"
	}
	if i := queryStart().FindStringIndex(raw); i != nil {
		raw = raw[:i[0]] + "?…"
	}
	if i := userEnd(raw); i >= 0 && !azureUser().MatchString(raw) {
		raw = schemeStart().FindString(raw) + "…@" + raw[i:]
	}
	raw = secretWord().ReplaceAllString(raw, "$1=…")
	const most = 200
	if len(raw) > most {
		raw = strings.ToValidUTF8(raw[:most], "") + "…"
	}
	return raw
}

var (
	queryStart  = pattern(`[?#]|(?i)%(3f|23)`)
	schemeStart = pattern(`^[A-Za-z][A-Za-z0-9+.-]*:[/\\]*`)
	azureUser   = pattern(`^(abfss?|wasbs?)://[A-Za-z0-9_$-]+@[a-z0-9.]+/[^@]*$`)
	secretWord  = pattern(`(?i)(sig|signature|token|secret|password|credential|x-amz-[a-z-]+)=[^/]*`)
)

// userEnd is the index after the last '@' of raw, also an escaped one, or -1.
func userEnd(raw string) int {
	at := strings.LastIndexByte(raw, '@') + 1
	if i := strings.LastIndex(raw, "%40") + len("%40"); i >= len("%40") && i > at {
		at = i
	}
	if at == 0 {
		return -1
	}
	return at
}
