package urlresolve

import (
	"net/netip"
	"strconv"
	"strings"
)

// longestBucket is the length of the longest name of a bucket: of GCS.
const longestBucket = 222

// isBucketName holds for the names of S3 (old ones too), GCS and mem: letters, digits, dots, dashes and underscores, a letter or a digit first.
func isBucketName(name string) bool {
	if len(name) == 0 || len(name) > longestBucket {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !isLetter(c) && (c < '0' || c > '9') && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

func checkBucket(raw, bucket string) error {
	switch {
	case bucket == "":
		return refuse(raw, "no bucket")
	case strings.IndexByte(bucket, '@') >= 0:
		return refuse(raw, "a user or a password")
	case !isBucketName(bucket) || strings.Contains(bucket, ".."):
		return refuse(raw, "an invalid bucket name")
	}
	return nil
}

var (
	hostName   = pattern(`^([a-z0-9_](-*[a-z0-9_])*)(\.[a-z0-9_](-*[a-z0-9_])*)*$`)
	numberLike = pattern(`(^|\.)(0x[0-9a-f]*|[0-9]+)$`)
)

// checkHost refuses hosts that aren't in normal form, so that no two spellings name one host, and those of
// metadata services.
func checkHost(raw, scheme, authority string) error {
	if strings.IndexByte(authority, '@') >= 0 {
		return refuse(raw, "a user or a password")
	}
	host, ok := cutPort(scheme, authority)
	if !ok {
		return refuse(raw, "a malformed or default port")
	}
	if strings.HasPrefix(host, "[") || numberLike().MatchString(host) {
		return checkAddress(raw, host)
	}
	switch {
	case len(host) > 253 || !hostName().MatchString(host):
		return refuse(raw, "a host name that is not in canonical form")
	case isMetadataName(host):
		return refuse(raw, "a metadata service")
	}
	return nil
}

func checkAddress(raw, host string) error {
	inner, bracketed := host, false
	if strings.HasPrefix(host, "[") {
		inner, bracketed = strings.TrimSuffix(host[1:], "]"), true
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || addr.Is6() != bracketed || bracketed != strings.HasSuffix(host, "]") || addr.Zone() != "" {
		return refuse(raw, "an address that is not in canonical form")
	}
	if addr.Is4In6() || addr.String() != inner {
		return refuse(raw, "an address that is not in canonical form")
	}
	if IsMetadataAddress(addr) {
		return refuse(raw, "a metadata service")
	}
	return nil
}

// cutPort splits host and port; a port is a number that isn't the scheme's own, without leading zeros.
func cutPort(scheme, authority string) (host string, ok bool) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasSuffix(authority, "]") {
		return authority, true
	}
	host, port := authority[:i], authority[i+1:]
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != port || n == 0 {
		return "", false
	}
	return host, !(scheme == "http" && n == 80 || scheme == "https" && n == 443)
}

// metadataNames are the hosts by which clouds reach their metadata services.
var metadataNames = map[string]bool{
	"metadata": true, "metadata.google.internal": true, "metadata.goog": true, "instance-data": true,
	"instance-data.ec2.internal": true, "metadata.azure.com": true, "metadata.azure.internal": true,
	"metadata.packet.net": true, "metadata.tencentyun.com": true, "metadata.platformequinix.com": true,
}

func isMetadataName(host string) bool { return metadataNames[host] }

var metadataAddresses = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),     // AWS, Azure, GCP, OpenStack; all of link-local
	netip.MustParsePrefix("fe80::/10"),          // link-local
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS over IPv6
	netip.MustParsePrefix("fd20:ce::254/128"),   // GCP over IPv6
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure's wire server
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle
	netip.MustParsePrefix("0.0.0.0/8"),          // "this host"
	netip.MustParsePrefix("::/128"),
	netip.MustParsePrefix("224.0.0.0/4"), // multicast
	netip.MustParsePrefix("ff00::/8"),
}

// IsMetadataAddress reports whether an address is one of a cloud's metadata services, or of a kind on which they
// live. An https driver retries when it dials, because a name may resolve to anything.
func IsMetadataAddress(addr netip.Addr) bool {
	addr = embedded(addr.WithZone("").Unmap())
	for _, p := range metadataAddresses {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// embedded is the IPv4 address inside an IPv6 one of NAT64 (64:ff9b::/96), 6to4 (2002::/16) or the deprecated
// IPv4-compatible form (::/96); others are returned as they are.
func embedded(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(addr), netip.MustParsePrefix("::/96").Contains(addr):
		if b[12] != 0 { // ::1 and adjacent addresses are themselves
			return netip.AddrFrom4([4]byte(b[12:16]))
		}
	case netip.MustParsePrefix("2002::/16").Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}
