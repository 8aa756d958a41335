package catalog

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

type closingSource struct{ *rowSource }

func (closingSource) Close() error { return nil }

// What a job of many files keeps in memory does not grow with the files that it has landed, nor with the rows: the list of files is
// there from the beginning, and a part leaves a snapshot.
func TestIngestOfManyFilesHoldsLittle(t *testing.T) {
	c, _ := openLocal(t)
	tbl, err := c.Create(t.Context(), tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	const parts, partFiles, early, late, fileRows = 40, 20, 10, 39, 50
	var files []InputFile
	for i := range parts * partFiles {
		files = append(files, InputFile{URL: fmt.Sprintf("file:///in/%05d.ndjson", i), Size: 1 << 20})
	}
	held := map[int]int64{}
	part := 0
	done, err := tbl.IngestFiles(t.Context(), files, FilesOptions{PartFiles: partFiles, Workers: 1, Open: func(_ context.Context, listed []InputFile) (FileSource, error) {
		if part == early || part == late {
			runtime.GC() // what lies in a sync.Pool survives one
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			held[part] = int64(m.HeapAlloc)
		}
		part++
		var batches []string
		for range listed {
			batches = append(batches, rows(fileRows*len(batches), fileRows))
		}
		return closingSource{source(batches...)}, nil
	}})
	if err != nil || done.Snapshots != parts || done.Rows != parts*partFiles*fileRows {
		t.Fatalf("%+v, %v", done, err)
	}
	// A snapshot's line in the metadata is 4 KiB as it lies in memory, once for the table and once for who lands the part. The rows of a part are
	// 50 KiB at least.
	if grown, most := held[late]-held[early], int64(late-early)*16<<10; grown > most {
		t.Errorf("%d bytes are held after %d parts, %d after %d: %d more, %d at most", held[late], late, held[early], early, grown, most)
	} else {
		t.Logf("%d bytes more for %d parts", grown, late-early)
	}
}
