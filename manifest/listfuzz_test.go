package manifest

import (
	"bytes"
	"errors"
	"runtime/metrics"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// FuzzManifestList: a manifest list is read by iceberg-go. Whatever its bytes are, it gives manifests or a typed error, and takes memory by its size.
func FuzzManifestList(f *testing.F) {
	m, _ := someManifest(f, 3)
	for _, files := range [][]iceberg.ManifestFile{{}, {m}} {
		var list bytes.Buffer
		sequence := int64(1)
		if err := iceberg.WriteManifestList(FormatVersion, &list, 1, nil, &sequence, 0, files); err != nil {
			f.Fatal(err)
		}
		f.Add(list.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		files, err := Manifests(fileOf(data), FormatVersion, &table.Snapshot{SnapshotID: 1, ManifestList: "list.avro"})
		used := allocated() - before
		if err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("an error without a class: %v", err)
		}
		for _, file := range files {
			if err == nil && (file.FilePath() == "" || file.Length() < 0) {
				t.Errorf("a manifest %q of %d bytes", file.FilePath(), file.Length())
			}
		}
		// What is checked and what iceberg-go decodes, each once, and their schemas.
		if most := 4 * uint64(decodedBudget+decodedPerByte*int64(len(data))); used > most {
			t.Errorf("%d bytes take %d of memory", len(data), used)
		}
	})
}

// allocated is how many bytes were ever allocated, without stopping other goroutines as runtime.ReadMemStats does.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
