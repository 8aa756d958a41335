package manifest

import (
	"errors"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

var errBroken = errors.New("the disk is broken")

// breaking is a folder of which the n-th operation on a file fails.
type breaking struct {
	io.LocalFS
	n, done int
}

func (f *breaking) next() error {
	if f.done++; f.done == f.n {
		return errBroken
	}
	return nil
}

func (f *breaking) Open(name string) (io.File, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	return f.LocalFS.Open(name)
}

func (f *breaking) ReadFile(name string) ([]byte, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	return f.LocalFS.ReadFile(name)
}

func (f *breaking) Create(name string) (io.FileWriter, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	return f.LocalFS.Create(name)
}

func (f *breaking) WriteFile(name string, content []byte) error {
	if err := f.next(); err != nil {
		return err
	}
	return f.LocalFS.WriteFile(name, content)
}

// TestNothingIsStagedOverBrokenFiles: a change that rewrites, empties and merges manifests fails where any of its files can't be read or written: a manifest
// that is left out would be lost rows.
func TestNothingIsStagedOverBrokenFiles(t *testing.T) {
	spec := iceberg.NewPartitionSpec()
	b := newBench(t, &spec)
	meta, err := table.UpdateTableMetadata(b.meta, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{mergeCountProperty: "100"})}, "")
	if err != nil {
		t.Fatal(err)
	}
	b.meta = meta
	for i := range 6 { // a manifest of two entries each
		b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(2 * i), fake(2*i + 1)}})
	}
	if b.meta, err = table.UpdateTableMetadata(b.meta, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{mergeCountProperty: "2"})}, ""); err != nil {
		t.Fatal(err)
	}
	// One entry of the first manifest goes, and both of the second; the others are merged.
	c := Change{Operation: table.OpOverwrite, Add: []*Entry{fake(20)}, Remove: []string{fake(0).Path, fake(2).Path, fake(3).Path}, CheckDuplicates: true}
	for n := 1; ; n++ {
		fs := &breaking{n: n}
		_, err := Stage(Base{Metadata: b.meta, FS: fs, Now: b.clock}, c)
		if fs.done < n {
			if err != nil {
				t.Fatal(err)
			}
			if n < 12 {
				t.Errorf("the change has %d operations on files", n-1)
			}
			break
		}
		if !errors.Is(err, errBroken) {
			t.Errorf("with operation %d broken: %v", n, err)
		}
	}
	b.commit(c)
	if live := b.live(); len(live) != 10 {
		t.Errorf("%d entries, want 10", len(live))
	}
}
