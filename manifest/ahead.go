package manifest

import (
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
)

// aheadIO is an IO that reads files before they are requested. ReadAhead begins with files of known sizes, in their order, and gives an
// IO that has them; done ends it.
type aheadIO interface {
	io.IO
	ReadAhead(paths []string, sizes []int64) (view io.IO, done func())
}

// ReadAhead begins to read manifests that are read one after another, if the IO can.
func ReadAhead(fs io.IO, manifests []iceberg.ManifestFile) (view io.IO, done func()) {
	ahead, ok := fs.(aheadIO)
	if !ok || len(manifests) < 2 {
		return fs, func() {}
	}
	paths, sizes := make([]string, len(manifests)), make([]int64, len(manifests))
	for i, m := range manifests {
		paths[i], sizes[i] = m.FilePath(), m.Length()
	}
	return ahead.ReadAhead(paths, sizes)
}
