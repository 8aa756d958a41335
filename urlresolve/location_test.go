package urlresolve

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestBase(t *testing.T) {
	for root, want := range map[string]string{
		"s3://h/a/b/x.amudai.shard":   "s3://h/a/b/",
		"s3a://h/x":                   "s3://h/",
		"file:///data/x.amudai.shard": "file:///data/",
		"file:///x":                   "file:///",
		"mem://m/a/x":                 "mem://m/a/",
		"https://acct.blob.core.windows.net/c/a/x": "abfss://c@acct.dfs.core.windows.net/a/",
		"s3://h/a/": "s3://h/a/",
	} {
		if got, err := Base(root); err != nil || got != want {
			t.Errorf("Base(%q) = %q, %v; want %q", root, got, err, want)
		}
	}
	for _, root := range []string{"", "/data/x", "x", "s3://h", "s3://h/x?region=eu", "file://host/x", "s3://h/a/../x"} {
		if got, err := Base(root); !errors.Is(err, ErrRefused) {
			t.Errorf("Base(%q) = %q, %v; want it refused", root, got, err)
		}
	}
}

// TestObjectURLs is the table of docs/format/container.md, as far as it does not name hosts in file URLs, which
// the reference accepts.
func TestObjectURLs(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://foo.com/": true, "https://foo.com/aaa": true, "file:///test/bcde": true,
		"https://foo.com/aaa/%d1%81%d0%bb4%d1%84/bcde": true, "s3://bucket/container/x": true,
		"null:///tmp/x": false, "test://container/x": true, "file://aaa/test/": false, "file://127.0.0.1/test/": false,
		"https://foo.com": false, "file:test": false, "file:/test": false, "https://foo.com/aaa/../b": false,
		"https://foo.com/aaa/./b": false, "https://foo.com/%2e%2e/b": false, "https://foo.com/b?x": false,
		"https://u:p@foo.com/b": false,
		// Escapes of a key, as Hive writes them, and what climbs if it is unescaped twice.
		"file:///t/d=a%252F..%252Fb/x": true, "s3://b/d=..%252F..%252F..%252Fetc/%252E=%252E/x": true, "file:///t/d=a%2F..%2Fb/x": false, "file:///t/d=a%252F..%252Fb/..%252Fx": false,
		"file:///t/d=1%252F2/../x": false, "file:///t/d=1%252F2/%2e%2e/x": false,
		"file:///t/d=1%252F2/x": true, "s3://b/d=%255C%2501/x": true, "s3://b/100%25%20/x": true,
		"file:///t/d=1%2F2/x": false, "file:///t/..%252F..%252Fx": false, "file:///t/a%252F..%252Fx": false, "file:///t/..%255cx": false,
		"file:///t/%25252e%25252e/x": false,
	} {
		if _, err := Parse(url); (err == nil) != ok {
			t.Errorf("Parse(%q): %v, want ok = %v", url, err, ok)
		}
	}
}

func TestMetadataServicesAreRefusedByParse(t *testing.T) {
	for _, host := range []string{"169.254.169.254", "[::ffff:a9fe:a9fe]", "[::ffff:169.254.169.254]", "2852039166",
		"0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]",
		"[::a9fe:a9fe]", "[fe80::1]", "[fe80::1%eth0]", "100.100.100.200", "168.63.129.16", "metadata", "metadata.google.internal",
		"metadata.google.internal.", "169.254.169.254:80", "169.254.169.254:8080", "0.0.0.0", "0", "[::]"} {
		if l, err := Parse("http://" + host + "/x"); err == nil {
			t.Errorf("Parse accepts the host %s: %+v", host, l)
		}
	}
	for _, host := range []string{"127.0.0.1:9000", "[::1]:9000", "10.0.0.1", "[2001:db8::1]", "localhost", "minio:9000"} {
		if _, err := Parse("http://" + host + "/x"); err != nil {
			t.Errorf("Parse refuses the host %s: %v", host, err)
		}
	}
}

func TestIsMetadataAddress(t *testing.T) {
	for addr, want := range map[string]bool{
		"169.254.169.254": true, "::ffff:169.254.169.254": true, "64:ff9b::169.254.169.254": true, "fe80::1%eth0": true,
		"127.0.0.1": false, "::1": false, "8.8.8.8": false, "2001:db8::1": false, "64:ff9b::8.8.8.8": false,
	} {
		if got := IsMetadataAddress(netip.MustParseAddr(addr)); got != want {
			t.Errorf("IsMetadataAddress(%s) = %v", addr, got)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, test := range []struct{ root, object, want string }{
		{s3Root, s3Root, ""},
		{s3Root, "s3a://bucket/tables/t/r.amudai.shard", ""},
		{s3Root, "s3://bucket/tables/t/x/y", "x/y"},
		{s3Root, "s3://bucket/tables/t/x/", "s3://bucket/tables/t/x/"},
		{s3Root, "s3://bucket/tables/t/", "s3://bucket/tables/t/"},
		{s3Root, "s3://bucket/tables/u/x", "s3://bucket/tables/u/x"},
		{s3Root, "gcs://bucket/tables/t/x", "gs://bucket/tables/t/x"},
		{s3Root, "s3://bucket/tables/t/a:b/f", "s3://bucket/tables/t/a:b/f"}, // "a:b/f" reads as a scheme
		{s3Root, "s3://bucket/tables/t/2024:01/f", "2024:01/f"},
		{s3Root, "s3://bucket/tables/t//f", "s3://bucket/tables/t//f"}, // "/f" is an absolute path
		{"http://foo.com/c/aaa.shard", "http://foo.com/c/x/y", "x/y"},
		{"http://foo.com/c/aaa.shard", "http://foo.com/c/%d1%81", "%d1%81"},
		{"file:///d/a%20b.shard", "file:///d/a%20b/0.stripe", "a%20b/0.stripe"},
		{s3Root, "no url", "no url"},
	} {
		got := Relative(test.root, test.object)
		if got != test.want {
			t.Errorf("Relative(%q, %q) = %q, want %q", test.root, test.object, got, test.want)
		}
	}
}

func TestPrefix(t *testing.T) {
	p, err := ParsePrefix("wasbs://c@acct.blob.core.windows.net/a/b")
	if want := (Prefix{"abfss", "c@acct.dfs.core.windows.net", "a/b"}); err != nil || p != want {
		t.Fatalf("ParsePrefix = %+v, %v; want %+v", p, err, want)
	}
	for path, want := range map[string]bool{"a/b": true, "a/b/c": true, "a/bc": false, "a": false, "a/b/": true} {
		if got := p.Holds(Location{p.Scheme, p.Bucket, path}); got != want {
			t.Errorf("%+v holds %q = %v", p, path, got)
		}
	}
	if (Prefix{}).Holds(Location{}) {
		t.Error("the zero Prefix holds something")
	}
}

func TestKeysSurviveEscaping(t *testing.T) {
	for _, key := range []string{"a/b", "a b", "100%", "%2e%2e", "ü/日本", "a?b#c", `q"<>^{}|`, "\x01"} {
		if got := (Location{Path: EscapeKey(key)}).Key(); got != key {
			t.Errorf("key %q came back as %q (escaped %q)", key, got, EscapeKey(key))
		}
	}
}

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"s3://b/k":                                 "s3://b/k",
		"abfss://c@a.dfs.core.windows.net/k":       "abfss://c@a.dfs.core.windows.net/k",
		"abfss://c:pw@a.dfs.core.windows.net/k":    "abfss://…@a.dfs.core.windows.net/k",
		"https://u:pw@h/k?sig=1#f":                 "https://…@h/k?…",
		"https:\\\\u:pw@h/k":                       "https:\\\\…@h/k",
		"//u:pw@h/k":                               "…@h/k",
		"k%3Fsig=abc":                              "k?…",
		"https://u:pw%40h/k":                       "https://…@h/k",
		"d;sig=abc/k":                              "d;sig=…/k",
		"x/" + strings.Repeat("y", 300):            "x/" + strings.Repeat("y", 198) + "…",
		"https://u:p@w@h/k":                        "https://…@h/k",
		"s3://b/" + strings.Repeat("y", 1<<20):     "s3://…",
		"https://h/X-Amz-Signature=abc&X-Amz-Date": "https://h/X-Amz-Signature=…",
	} {
		if got := Redact(raw); got != want {
			t.Errorf("Redact(%q) = %q, want %q", raw, got, want)
		}
	}
}

// FuzzResolve checks what must hold for any reference: what resolves is canonical, lies in the container or on
// the allow list, and does not climb; what doesn't is ErrRefused; a writer's reference to it leads back.
func FuzzResolve(f *testing.F) {
	for _, ref := range []string{"d/f", "../x", "..%2fx", "s3://shared/open/data/f", "s3a://bucket/tables/t/x",
		"https://acct.blob.core.windows.net/c/p/f", "http://169.254.169.254/", "http://[::ffff:a9fe:a9fe]/", `a\..\x`,
		"C:/x", "c|/x", "%252e%252e/f", "\uff0e\uff0e/f", "a b", "100%25", "d/\x00", "abfss://c@acct.dfs.core.windows.net/p/f"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		got, err := Resolve(s3Root, ref, policy)
		if err != nil {
			if !errors.Is(err, ErrRefused) || got != "" {
				t.Fatalf("%q, %v", got, err)
			}
			return
		}
		l, err := Parse(got)
		if err != nil || l.String() != got {
			t.Fatalf("resolved to %q, which is not canonical: %+v, %v", got, l, err)
		}
		if strings.ContainsAny(l.Key(), "\\\x00\n\r") || climbs(l.Key()) {
			t.Fatalf("resolved to the key %q", l.Key())
		}
		inside := strings.HasPrefix(got, "s3://bucket/tables/t/")
		for _, p := range policy.Allow {
			inside = inside || p.Holds(l)
		}
		if !inside {
			t.Fatalf("resolved to %q, which is not allowed", got)
		}
		if back := Relative(s3Root, got); back != "" {
			if again, err := Resolve(s3Root, back, policy); err != nil || again != got {
				t.Fatalf("%q, written as %q, resolves to %q, %v", got, back, again, err)
			}
		}
	})
}

// TestAzureHosts: every place that Microsoft keeps storage accounts at is read, in one canonical spelling.
func TestAzureHosts(t *testing.T) {
	for raw, want := range map[string]string{
		"abfss://ws@onelake.dfs.fabric.microsoft.com/lake.Lakehouse/Files/x":         "abfss://ws@onelake.dfs.fabric.microsoft.com/lake.Lakehouse/Files/x",
		"abfss://My_Workspace@onelake.dfs.fabric.microsoft.com/x":                    "abfss://My_Workspace@onelake.dfs.fabric.microsoft.com/x",
		"https://onelake.blob.fabric.microsoft.com/ws/x":                             "abfss://ws@onelake.dfs.fabric.microsoft.com/x",
		"abfss://ws@westus-onelake.dfs.fabric.microsoft.com/x":                       "abfss://ws@westus-onelake.dfs.fabric.microsoft.com/x",
		"abfss://c@acct.z01.blob.storage.azure.net/x":                                "abfss://c@acct.z01.dfs.storage.azure.net/x",
		"https://acct.z12.blob.storage.azure.net/c/x":                                "abfss://c@acct.z12.dfs.storage.azure.net/x",
		"abfss://c@acct.dfs.core.chinacloudapi.cn/x":                                 "abfss://c@acct.dfs.core.chinacloudapi.cn/x",
		"wasbs://c@acct.blob.core.usgovcloudapi.net/x":                               "abfss://c@acct.dfs.core.usgovcloudapi.net/x",
		"abfss://c@acct.dfs.core.cloudapi.de/x":                                      "abfss://c@acct.dfs.core.cloudapi.de/x",
		"abfss://C@acct.dfs.core.windows.net/x":                                      "",
		"abfss://c@acct.dfs.evil.example/x":                                          "",
		"abfss://c@acct.dfs.core.windows.net.evil.example/x":                         "",
		"abfss://c@evil.example/.dfs.core.windows.net/x":                             "",
		"abfss://ws@onelake.dfs.fabric.microsoft.com.evil.example/lake.Lakehouse/xy": "",
	} {
		l, err := Parse(raw)
		if got := l.String(); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%s: %s, %v; want %q", raw, got, err, want)
		}
	}
}
