package urlresolve

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

const s3Root = "s3://bucket/tables/t/r.amudai.shard"

var policy = Policy{Allow: []Prefix{
	{Scheme: "s3", Bucket: "shared", PathPrefix: "open/data"},
	{Scheme: "gs", Bucket: "all"},
	{Scheme: "abfss", Bucket: "c@acct.dfs.core.windows.net", PathPrefix: "p/"},
	{Scheme: "https", Bucket: "example.com", PathPrefix: "pub"},
	{Scheme: "https", Bucket: "10.0.0.7:8443"},
	{Scheme: "http", Bucket: "169.254.169.254"},
	{Scheme: "http", Bucket: "metadata.google.internal"},
}}

// TestAccepted lists references that resolve, with what they resolve to.
func TestAccepted(t *testing.T) {
	for _, test := range []struct{ ref, want string }{
		// Relative, docs/format/container.md.
		{"f", "s3://bucket/tables/t/f"},
		{"d/f", "s3://bucket/tables/t/d/f"},
		{"a//b", "s3://bucket/tables/t/a//b"},
		{"d/", "s3://bucket/tables/t/d/"},
		{"d/a:b/f", "s3://bucket/tables/t/d/a:b/f"},
		{"a%3Ab/f", "s3://bucket/tables/t/a%3Ab/f"},
		{"2024:01/f", "s3://bucket/tables/t/2024:01/f"},
		{"..f", "s3://bucket/tables/t/..f"},
		{"f..", "s3://bucket/tables/t/f.."},
		{".../f", "s3://bucket/tables/t/.../f"},
		{".hidden/f", "s3://bucket/tables/t/.hidden/f"},
		{"r.amudai.shard", s3Root},
		{"data/3f2a-1.amudai.stripe", "s3://bucket/tables/t/data/3f2a-1.amudai.stripe"},
		{"a b/f", "s3://bucket/tables/t/a%20b/f"},
		{"%20/f", "s3://bucket/tables/t/%20/f"},
		{"сд4ф/bcde", "s3://bucket/tables/t/%D1%81%D0%B44%D1%84/bcde"},
		{"%d1%81/bcde", "s3://bucket/tables/t/%d1%81/bcde"},
		{"100%25.stripe", "s3://bucket/tables/t/100%25.stripe"},
		{"day=2024-01-01/f", "s3://bucket/tables/t/day=2024-01-01/f"},
		{"user@host/f", "s3://bucket/tables/t/user@host/f"},
		{"www.example.com/f", "s3://bucket/tables/t/www.example.com/f"},
		// Absolute, in the container.
		{"s3://bucket/tables/t/f", "s3://bucket/tables/t/f"},
		{s3Root, s3Root},
		{"s3a://bucket/tables/t/f", "s3://bucket/tables/t/f"},
		{"s3n://bucket/tables/t/d/f", "s3://bucket/tables/t/d/f"},
		// Absolute, on the allow list.
		{"s3://shared/open/data/f", "s3://shared/open/data/f"},
		{"s3://shared/open/data", "s3://shared/open/data"},
		{"s3a://shared/open/data/f", "s3://shared/open/data/f"},
		{"gs://all/f", "gs://all/f"},
		{"gcs://all/d/f", "gs://all/d/f"},
		{"abfss://c@acct.dfs.core.windows.net/p/f", "abfss://c@acct.dfs.core.windows.net/p/f"},
		{"abfs://c@acct.dfs.core.windows.net/p/f", "abfss://c@acct.dfs.core.windows.net/p/f"},
		{"wasbs://c@acct.blob.core.windows.net/p/f", "abfss://c@acct.dfs.core.windows.net/p/f"},
		{"wasb://c@acct.blob.core.windows.net/p/f", "abfss://c@acct.dfs.core.windows.net/p/f"},
		{"https://acct.blob.core.windows.net/c/p/f", "abfss://c@acct.dfs.core.windows.net/p/f"},
		{"https://acct.dfs.core.windows.net/c/p/f", "abfss://c@acct.dfs.core.windows.net/p/f"},
		{"https://example.com/pub/f", "https://example.com/pub/f"},
		{"https://10.0.0.7:8443/f", "https://10.0.0.7:8443/f"},
	} {
		got, err := Resolve(s3Root, test.ref, policy)
		if err != nil || got != test.want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", test.ref, got, err, test.want)
		}
	}
}

// TestRefused lists references that don't resolve, whatever the policy states.
func TestRefused(t *testing.T) {
	for _, ref := range []string{
		"",
		// Climbing.
		"../f", "./f", "d/../f", "d/./f", ".", "..", "d/..", "%2E%2e/f", "%2e/f", "%2e.", ".%2E/f", "d/%2e%2e",
		"..%2ff", "..%2Ff", "%2e%2e%2ff", "%2f", "d%2f..%2f..%2ff", "%252e%252e/f", "%25252e%25252e/f", "..%5cf", "..%255cf",
		"d%252Ff", "d%255cf", "s3://bucket/tables/t/d%252Ff", "d%2501",
		`a\..\x`, `..\x`, `\\host\share\f`, `\f`, "%c0%ae%c0%ae/f", "%c0%af", "\u2025/f", "\uff0e\uff0e/f",
		"\u2024\u2024/f", "..\uff0ff", "%ef%bc%8e%ef%bc%8e/f", "d/..\u2215f",
		// Absolute paths and other hosts.
		"/f", "/etc/passwd", "//host/f", "//bucket/tables/t/f", "C:/x", `C:\x`, "c|/x", "other:thing", "a:b/f",
		"file:///etc/passwd", "file:/etc/passwd", "file:etc/passwd", "file://host/share/f", "file://localhost/etc/passwd",
		"FILE:///etc/passwd", "mem://other/f", "null:///tmp/x", "javascript:alert(1)", "data:text/plain,x",
		// Query, fragment, user.
		"f?x=1", "f#y", "s3://bucket/tables/t/f?versionId=1", "s3://bucket/tables/t/f#y", "?", "#",
		"s3://user@bucket/tables/t/f", "s3://user:secret@bucket/tables/t/f", "https://user@example.com/pub/f",
		"https://user:secret@example.com/pub/f", "https://example.com@evil.org/pub/f", "https://example.com%40evil.org/pub/f",
		"abfss://c:secret@acct.dfs.core.windows.net/p/f", "https://acct.blob.core.windows.net/c/p/f?sig=secret",
		// Outside the container and the allow list.
		"s3://bucket/tables/f", "s3://bucket/tables/tt/f", "s3://other/tables/t/f", "gs://bucket/tables/t/f",
		"s3://shared/f", "s3://shared/open/data2/f", "s3://shared/open", "https://example.com/public/f",
		"https://example.com:8443/pub/f", "http://example.com/pub/f", "https://example.org/pub/f",
		"abfss://d@acct.dfs.core.windows.net/p/f", "abfss://c@acct2.dfs.core.windows.net/p/f",
		"abfss://c@acct.dfs.core.windows.net.evil.org/p/f", "abfss://c@evil.org/p/f",
		// Not in normal form.
		"S3://bucket/tables/t/f", "s3://bucket", "s3:/bucket/tables/t/f", "s3:bucket/f", "s3:///f", "s3://bucket/tables/t/../t/f",
		"s3://bucket/tables/t/a b", "https://EXAMPLE.com/pub/f", "https://example.com:443/pub/f", "https://example.com./pub/f",
		"https://example.com", "https:///pub/f", "https:example.com/pub/f", "https://example.com:/pub/f",
		"https://example.com:08443/pub/f", "https://exаmple.com/pub/f", "https://%65xample.com/pub/f", "https://[::1/pub/f",
		// Metadata services, although the policy names some.
		"http://169.254.169.254/latest/meta-data/", "http://[::ffff:a9fe:a9fe]/", "http://[::ffff:169.254.169.254]/x",
		"http://metadata.google.internal/", "http://2852039166/", "http://0xA9FEA9FE/x", "http://0xa9fea9fe/x",
		"http://0251.0376.0251.0376/x", "http://169.254.43518/x", "http://169.16689662/x", "http://[fd00:ec2::254]/x",
		"http://[64:ff9b::a9fe:a9fe]/x", "http://[2002:a9fe:a9fe::]/x", "http://[fe80::1]/x", "http://[fe80::1%25eth0]/x",
		"http://100.100.100.200/x", "http://168.63.129.16/x", "http://metadata.google.internal./x", "http://metadata/x",
		"http://①⑥⑨.254.169.254/x", "http://0.0.0.0/x", "http://0/x",
		// Bytes that are not text.
		"d/\x00", "\x00", "d\nf", "d\tf", "\x7f", "d%00f", "d%0af", "d%7F", "\xff\xfe", "d%ff", "d/%", "d/%zz", "d/%4", "\u202egpj.f",
		"d%E2%80%AEf", "f ", " f", "\u200bf", "\ufefff", strings.Repeat("a", 1<<20), strings.Repeat("}", 2000), strings.Repeat("a", maxLength), "s3://bucket/tables/t/" + strings.Repeat("a", 1<<20),
	} {
		got, err := Resolve(s3Root, ref, policy)
		if err == nil {
			t.Errorf("Resolve(%.80q) = %q, want it refused", ref, got)
			continue
		}
		if !errors.Is(err, ErrRefused) {
			t.Errorf("Resolve(%.80q): %v does not match ErrRefused", ref, err)
		}
		if msg := err.Error(); strings.Contains(msg, "secret") || len(msg) > 600 || strings.ContainsAny(msg, "\n\x00\u202e") {
			t.Errorf("Resolve(%.80q): unfit for a log: %q", ref, msg)
		}
	}
}

// isBucketName holds for what this pattern holds for.
func TestBucketNames(t *testing.T) {
	want := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,221}$`)
	names := []string{"", strings.Repeat("a", 222), strings.Repeat("a", 223), "a/b", "a\n", "ä", "a\x00"}
	const some = "aZ09._-:@ /{`["
	for i := range len(some) {
		for k := range len(some) {
			names = append(names, some[i:i+1], some[i:i+1]+some[k:k+1], "x"+some[i:i+1]+some[k:k+1])
		}
	}
	for _, name := range names {
		if got := isBucketName(name); got != want.MatchString(name) {
			t.Errorf("%q: %v", name, got)
		}
	}
}
