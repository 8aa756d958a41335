package metadataio

import "testing"

// TestMetadataVersion reads the number of the next commit out of names that clients give.
func TestMetadataVersion(t *testing.T) {
	for name, want := range map[string]int{
		"s3://b/t/metadata/00003-5f6aa13a-8b07-4e6d-8a3f-2f9f1f3f8a11.metadata.json":    3,
		"s3://b/t/metadata/00012-5f6aa13a-8b07-4e6d-8a3f-2f9f1f3f8a11.gz.metadata.json": 12,
		"/w/v7.metadata.json": 7, "/w/v8.gz.metadata.json": 8, "/w/new.metadata.json": -1, "/w/-1-x.metadata.json": -1,
	} {
		got, err := Version(name)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}
