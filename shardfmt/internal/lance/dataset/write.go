package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// WriteOptions determine how a dataset is written. The zero value is valid.
type WriteOptions struct {
	// Files determines how each data file is written.
	Files lance.WriteOptions
	// FragmentRows is the most rows of a fragment, DefaultFragmentRows if 0, 2^32 at most.
	FragmentRows int64
}

// DefaultFragmentRows is the usual length of a fragment.
const DefaultFragmentRows = 1 << 20

// maxFragmentRows is the most that row numbers of 32 bits count.
const maxFragmentRows = 1 << 32

// ErrDataset is a dataset, or a file of its name, where a new one was to be made. It matches blobio.ErrExists too.
var ErrDataset = fmt.Errorf("a Lance dataset or file of this name exists, and only new datasets can be written: %w", blobio.ErrExists)

// Writer writes the first version of a new dataset: fragments of one data file each, one after the other, and at last the
// manifest. Before that there is no dataset for anyone. Not for concurrent use.
type Writer struct {
	ctx    context.Context // of the whole: a sink's methods have none
	st     fileformat.Creator
	url    string
	o      WriteOptions
	schema *arrow.Schema
	fields []int32 // the ids of those that the columns of a data file belong to
	m      manifest
	report arrowtype.Report // but for the current data file
	file   *dataFileWriter  // available, or nil
	closed bool
}

// NewWriter begins a dataset at url, a folder or prefix where there is none: otherwise the error is ErrDataset.
func NewWriter(ctx context.Context, st fileformat.Creator, url string, s *arrow.Schema, o WriteOptions) (*Writer, error) {
	if o.FragmentRows <= 0 {
		o.FragmentRows = DefaultFragmentRows
	}
	o.FragmentRows = min(o.FragmentRows, maxFragmentRows)
	w := &Writer{ctx: ctx, st: st, url: strings.TrimSuffix(url, "/"), o: o, schema: s}
	// A file that goes nowhere reports what all of them will be, and what they lose of the types.
	shape, err := lance.NewWriter(io.Discard, s, o.Files)
	if err != nil {
		return nil, err
	}
	w.fields = shape.Columns()
	w.report.Merge(shape.Report())
	w.m = manifest{fields: shape.Fields(), metadata: map[string]string{}, version: 1, writer: writerName, storage: storageVersion}
	for i, key := range s.Metadata().Keys() {
		w.m.metadata[key] = s.Metadata().Values()[i]
	}
	return w, w.free()
}

// free refuses a place that is taken.
func (w *Writer) free() error {
	versions, err := Versions(w.ctx, w.st, w.url)
	if err != nil {
		return err
	}
	if len(versions) == 0 { // a file of this name would hide the dataset
		_, err = w.st.Stat(w.ctx, w.url)
		if errors.Is(err, blobio.ErrNotFound) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", w.url, ErrDataset)
}

// Report implements fileformat.Sink.
func (w *Writer) Report() *arrowtype.Report {
	all := &arrowtype.Report{}
	all.Merge(&w.report)
	if w.file != nil {
		all.Merge(w.file.Report())
	}
	return all
}

// Write implements fileformat.Sink.
func (w *Writer) Write(batch arrow.RecordBatch) error {
	for from := int64(0); from < batch.NumRows(); {
		if w.file == nil {
			if err := w.begin(); err != nil {
				return err
			}
		}
		to := min(batch.NumRows(), from+w.o.FragmentRows-w.file.rows)
		if err := w.file.write(batch, from, to); err != nil {
			return err
		}
		if from = to; w.file.rows == w.o.FragmentRows {
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts a data file, whose name nobody else has.
func (w *Writer) begin() (err error) {
	file := dataFile{path: uuid.NewString() + ".lance", fields: w.fields, major: 2}
	w.file, err = newDataFile(w.ctx, w.st, w.url+"/data/"+file.path, w.schema, w.o.Files)
	if err == nil {
		w.m.fragments = append(w.m.fragments, fragment{id: uint64(len(w.m.fragments)), files: []dataFile{file}})
	}
	return err
}

// end completes the current data file.
func (w *Writer) end() error {
	if err := w.file.commit(); err != nil {
		return err
	}
	f := &w.m.fragments[len(w.m.fragments)-1]
	f.physical, f.files[0].size = uint64(w.file.rows), uint64(w.file.bytes)
	w.report.Merge(w.file.Report())
	w.file = nil
	return nil
}

// Close implements fileformat.Sink: it makes the dataset visible, unless another one is there by now.
func (w *Writer) Close() error {
	if w.file != nil {
		if err := w.end(); err != nil {
			return err
		}
	}
	w.m.written = time.Now().UTC()
	if err := w.free(); err != nil {
		return err
	}
	err := w.publish(w.m.encode())
	// Whether the manifest is there is not known after some errors: its data files have to stay. They must not if it is not ours.
	w.closed = !errors.Is(err, blobio.ErrExists)
	if errors.Is(err, blobio.ErrExists) {
		return fmt.Errorf("%s: %w", w.url, ErrDataset)
	}
	return err
}

// publish makes the manifest, of which there is one.
func (w *Writer) publish(b []byte) error {
	out, err := w.st.Create(w.ctx, w.url+"/"+manifestNames(w.m.version)[0], blobio.CreateOptions{SizeHint: int64(len(b))})
	if err != nil {
		return err
	}
	if _, err := out.Write(b); err != nil {
		out.Abort()
		return err
	}
	return out.Close()
}

// Abort implements fileformat.Output: it takes back the data files.
func (w *Writer) Abort() {
	if w.closed {
		return
	}
	w.closed = true
	if w.file != nil {
		w.file.abort()
	}
	ctx := context.WithoutCancel(w.ctx)
	for _, f := range w.m.fragments {
		// What can't be deleted stays, as bytes that no manifest names.
		_ = w.st.Delete(ctx, w.url+"/data/"+f.files[0].path, "")
	}
}
