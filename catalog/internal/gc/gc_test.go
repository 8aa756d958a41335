package gc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// TestKindsOfObjects: what has a name that no writer of this program gives is of unknown kind, which is never deleted.
func TestKindsOfObjects(t *testing.T) {
	folders := Folders{Vault: "mem://warehouse/vault/u/", Metadata: "mem://warehouse/t/metadata/"}
	for name, want := range map[string]Kind{
		"s.amudai.shard":                Root,
		"s.amudai.shard.bak":            Unknown,
		"more/s.amudai.shard":           Unknown,
		"data/s/s-0.amudai.stripe":      Data,
		"data/s/.amudai.stripe":         Data,
		"data/s.amudai.d/stripe":        Unknown,
		"data/s/stripe":                 Unknown,
		"data/":                         Unknown,
		"data":                          Unknown,
		"other/s/s-0.amudai.stripe":     Unknown,
		"_jobs/j.json":                  Control,
		"_jobs/j.txt":                   Unknown,
		"_jobs.json":                    Unknown,
		"_gc/marked-1.json":             Control,
		"_gc/marked-1":                  Unknown,
		"_compaction/group.json":        Control,
		"_compaction/group.bin":         Unknown,
		"_line/0000000000000003.0.json": Control,
		"_others/j.json":                Unknown,
		"_owner.json":                   Control,
		"_dropped.json":                 Control,
		"_owner.json/x":                 Unknown,
		"more/_owner.json":              Unknown,
		"":                              Unknown,
		"notes.txt":                     Unknown,
		"metadata/00000.metadata.json":  Unknown,
	} {
		if got := folders.KindOf(folders.Vault + name); got != want {
			t.Errorf("vault/%s: kind %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]Kind{
		"00000.metadata.json":      Iceberg,
		"m0.avro":                  Iceberg,
		".m0.avro.crc":             Iceberg,
		".00000.metadata.json.crc": Iceberg,
		"m0.avro.crc":              Unknown,
		".m0.avro":                 Iceberg,
		".crc":                     Unknown,
		"..crc":                    Unknown,
		".m0.txt.crc":              Unknown,
		"m0.parquet":               Unknown,
		"deep/m0.avro":             Unknown,
		"deep/.m0.avro.crc":        Unknown,
		"00000.metadata.json.gz":   Unknown,
	} {
		if got := folders.KindOf(folders.Metadata + name); got != want {
			t.Errorf("metadata/%s: kind %d, want %d", name, got, want)
		}
	}
	if got := folders.KindOf("mem://elsewhere/s.amudai.shard"); got != Unknown {
		t.Errorf("an object of another folder: kind %d", got)
	}
	for url, want := range map[string]string{"a/.b.avro.crc": "a/b.avro", ".b.crc": "b", "a/b.avro.crc": "", "a/.b.avro": "", "a/.crc": "", "a/..crc": "", "a.crc/.b": ""} {
		if of, ok := Checksummed(url); ok != (want != "") || ok && of != want {
			t.Errorf("%s: the checksum of %q, %v; want %q", url, of, ok, want)
		}
	}
}

// TestSameAsMarked: an object is the one that was marked only if size, ETag and time agree.
func TestSameAsMarked(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	mark := Mark{Size: 5, ETag: `"e"`, Modified: at.UTC()}
	for name, c := range map[string]struct {
		info blobio.Info
		want bool
	}{
		"the same":             {blobio.Info{Size: 5, ETag: `"e"`, ModTime: at}, true},
		"in another time zone": {blobio.Info{Size: 5, ETag: `"e"`, ModTime: at.In(time.FixedZone("x", 3600))}, true},
		"another size":         {blobio.Info{Size: 6, ETag: `"e"`, ModTime: at}, false},
		"another ETag":         {blobio.Info{Size: 5, ETag: `"f"`, ModTime: at}, false},
		"no ETag":              {blobio.Info{Size: 5, ModTime: at}, false},
		"another time":         {blobio.Info{Size: 5, ETag: `"e"`, ModTime: at.Add(time.Millisecond)}, false},
		"only the time":        {blobio.Info{Size: 6, ETag: `"f"`, ModTime: at}, false},
		"only the ETag":        {blobio.Info{Size: 6, ETag: `"e"`, ModTime: at.Add(1)}, false},
		"only the size":        {blobio.Info{Size: 5, ETag: `"f"`, ModTime: at.Add(1)}, false},
	} {
		if got := mark.Same(&c.info); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSharingOfFolders: another table has a part in a table's folders by its UUID, location, metadata, vault or adopted folders, not by others.
func TestSharingOfFolders(t *testing.T) {
	const vault, metadata = "mem://w/vault/own/", "mem://w/t/metadata/"
	own := &Swept{UUID: "own", Location: "mem://w/t", Vault: vault, Metadata: metadata, VaultOf: func(uuid string) string { return "mem://w/vault/" + uuid + "/" }}
	for name, c := range map[string]struct {
		r    Registered
		want bool
	}{
		"another table":          {Registered{UUID: "u", Metadata: "mem://x/y/metadata/1.json", Location: "mem://x/y"}, false},
		"its metadata elsewhere": {Registered{UUID: "u", Metadata: "mem://x/z/1.json", Location: "mem://x/y", Written: "mem://x/z"}, false},
		"metadata here":          {Registered{UUID: "u", Metadata: "mem://x/z/1.json", Location: "mem://x/y", Written: metadata}, true},
		"a metadata file here":   {Registered{Metadata: metadata + "1.json"}, true},
		"one of no folder":       {Registered{Metadata: "1.json"}, false},
		"the UUID":               {Registered{UUID: own.UUID, Metadata: "mem://x/z/1.json"}, true},
		"the location":           {Registered{UUID: "u", Metadata: "mem://x/z/1.json", Location: own.Location + "/"}, true},
		"an adopted folder":      {Registered{UUID: "u", Metadata: "mem://x/z/1.json", Adopted: []string{"mem://x/a/", vault}}, true},
		"another adopted folder": {Registered{UUID: "u", Metadata: "mem://x/z/1.json", Adopted: []string{"mem://x/a/"}}, false},
	} {
		if with := c.r.Sharing(own); (with != "") != c.want {
			t.Errorf("%s: %q", name, with)
		}
	}
}

// TestRealFolders: symbolic links are resolved, also above what is not there.
func TestRealFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", filepath.Join(dir, "link"))); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	for in, want := range map[string]string{
		"file://" + dir + "/link":          "file://" + dir + "/real/",
		"file://" + dir + "/link/a/b/":     "file://" + dir + "/real/a/b/",
		"file://" + dir + "/other//a":      "file://" + dir + "/other/a/",
		"file://" + dir + "/other/../link": "file://" + dir + "/real/",
		"mem://a//b/c":                     "mem://a/b/c/",
	} {
		if got := RealFolder(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestUUIDOfMetadata: the member of the object itself, whatever stands before and behind it.
func TestUUIDOfMetadata(t *testing.T) {
	for text, want := range map[string]string{
		`{"table-uuid":"AbC"}`: "abc", `{"a":{"table-uuid":"x"},"b":[{}],"table-uuid":"y","c":1}`: "y", `{"table-uuid":"y","c":`: "y",
		``: "", `[]`: "", `[{"table-uuid":"y"}]`: "", `"table-uuid"`: "", `{}`: "", `{"a":"table-uuid"}`: "", `{"table-uuid":5}`: "", `{"a":`: "", `{"a":}`: "",
		`{"a"`: "",
	} {
		if got := UUIDIn([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestJudge: an object goes only if it is of a known kind, old enough by a known time, and was marked, unchanged since, long enough ago.
func TestJudge(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	ages := Ages{Now: now, MinAge: 7 * 24 * time.Hour, DeleteDelay: 48 * time.Hour}
	old := now.Add(-ages.MinAge)
	info := blobio.Info{Size: 5, ETag: `"e"`, ModTime: old}
	marked := func(ago time.Duration) *Mark {
		return &Mark{Size: 5, ETag: `"e"`, Modified: old.UTC(), Run: "r", Since: now.Add(-ago)}
	}
	changed := marked(ages.DeleteDelay)
	changed.Size = 6
	at := func(modified time.Time) blobio.Info {
		return blobio.Info{Size: 5, ETag: `"e"`, ModTime: modified}
	}
	for name, c := range map[string]struct {
		kind Kind
		info blobio.Info
		mark *Mark
		want Verdict
	}{
		"new":                        {Data, at(now), nil, Keep},
		"a moment too young":         {Data, at(old.Add(1)), nil, Keep},
		"young, marked":              {Data, at(old.Add(1)), marked(ages.DeleteDelay), Keep},
		"old enough":                 {Data, info, nil, MarkNow},
		"of no time":                 {Data, at(time.Time{}), nil, Keep},
		"of no time, marked":         {Data, at(time.Time{}), marked(ages.DeleteDelay), Keep},
		"of unknown kind":            {Unknown, info, nil, Keep},
		"of unknown kind, marked":    {Unknown, info, marked(ages.DeleteDelay), Keep},
		"marked a moment too late":   {Root, info, marked(ages.DeleteDelay - 1), Keep},
		"marked long enough ago":     {Root, info, marked(ages.DeleteDelay), DeleteNow},
		"marked, changed since":      {Root, info, changed, MarkNow},
		"marked at an unknown time":  {Iceberg, info, &Mark{Size: 5, ETag: `"e"`, Modified: old.UTC()}, Keep},
		"a file of Iceberg, marked":  {Iceberg, info, marked(ages.DeleteDelay), DeleteNow},
		"marked by a clock that led": {Data, info, marked(-time.Hour), Keep},
	} {
		if got, why := ages.Judge(&c.info, c.kind, c.mark); got != c.want || why == "" {
			t.Errorf("%s: %d, %q, want %d", name, got, why, c.want)
		}
	}
}

// TestUnknownMembers: of a metadata file and of its snapshots, in the order of their names.
func TestUnknownMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", `{"table-uuid":"u","snapshots":[{"snapshot-id":1},{"manifest-list":"m"}]}`: "", `{"snapshots":null}`: "",
		`{"snapshotz":[]}`: "snapshotz", `{"b":1,"a":2}`: "a", `{"snapshots":[{"snapshot-id":1},{"manifest-lisu":"m"}]}`: "manifest-lisu",
		`{"x":1,"snapshots":[{"y":1}]}`: "x",
	} {
		if got, err := UnknownMember([]byte(text)); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{``, `[]`, `{"snapshots":{}}`, `{"snapshots":[5]}`} {
		if _, err := UnknownMember([]byte(text)); err == nil {
			t.Errorf("%s is taken for a metadata file", text)
		}
	}
}

// TestLive: an object is live under any spelling of its URL, as the checksum of a live file, and below the prefix of a job.
func TestLive(t *testing.T) {
	l := NewLive()
	if !l.Add("s3a://b/t/m.avro", "first") || l.Add("s3://b/t/m.avro", "second") {
		t.Error("the second spelling of an object is a new one")
	}
	l.AddPrefix("s3://b/v/data/j-", "open job")
	for url, want := range map[string]string{
		"s3://b/t/m.avro": "first", "s3a://b/t/m.avro": "first", "s3://b/t/.m.avro.crc": "first", "s3://b/v/data/j-1.amudai.stripe": "open job",
		"s3://b/t/m.avr": "", "s3://b/v/data/j": "",
	} {
		if got := l.Reason(url); got != want || l.Has(url) != (want != "") {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
