// Package verify reads every byte that a shard's references reach and checks it.
//
// What is checked, in this order:
//
//   - the root: magic, directory, every message it refers to by its checksum, the counts they give each other;
//
//   - every encoded buffer: the block map must be the one a writer makes (it has no checksum of its own), every
//     block's checksum must hold and its values must decode, presence and offsets must agree with the
//     descriptor; dictionaries and range indexes by their checksums and rules;
//
//   - the bytes between buffers of an object, which must be zero padding, and its magic at both ends;
//
//   - for shards of our own, the checksum of each stripe's byte range (meta.PropertyObjects), which covers what
//     the wire leaves unprotected. A shard of another writer may have bytes that nothing protects; they are counted.
//
//   - the values: every field is read as a scan reads it, so that nothing passes that a scan would refuse, and
//     compared with what is reported of it and of the fields below it: counts of nulls, NaNs and other values, ranges, sizes and
//     lengths, sketches, Bloom filters, range indexes; of the stripes, and of the shard as their sum. Statistics that lie
//     lose rows in silence. What a descriptor does not state, and a range wider than the values, is no fault.
//
//   - the indexes of stripes and of the shard, and term filters, that scans rely on: they are made again from the values, and must name all
//     records that those name. An index that lacks postings loses rows in silence, too. Records that are named besides cost time only.
//
// For the first of these objects are read once, in order, with memory bounded by the largest buffer; for the values the
// data is read a second time, and the indexed columns a third time, if nothing was found before.
package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// Store is what verification needs of object stores; *blobio.Client has it.
type Store interface {
	index.Store
	Stat(ctx context.Context, url string) (blobio.Info, error)
}

// Options of a verification. The zero value is valid.
type Options struct {
	// Size of the root in bytes, 0 if it is not known.
	Size int64
	// Policy determines what absolute references may name besides the folder of the root.
	Policy urlresolve.Policy
	// MaxMemory bounds the memory of reading values as it does that of a scan, budget.Default if 0.
	MaxMemory int64
	// Progress, if not nil, is called with the number of bytes that were checked since its last call.
	Progress func(bytes int64)
	// Expect, if not nil, is called once with the number of bytes to check, before the first of them is.
	Expect func(bytes int64)
}

// maxFindings ends the list of a report: whoever has a hundred damages needs no second hundred.
const maxFindings = 100

// Shard verifies the shard with the given root. Damage is reported, not returned; the error is for a root that
// is not there (blobio.ErrNotFound), and for stores that can't be read.
func Shard(ctx context.Context, st Store, url string, o Options) (*corrupt.Report, error) {
	return shard(ctx, st, url, o, true)
}

// shard is Shard. With costs, reading all records must be within the budget of a scan by what the metadata promise.
func shard(ctx context.Context, st Store, url string, o Options, costs bool) (*corrupt.Report, error) {
	v := &verifier{ctx: ctx, st: st, o: o, objects: map[string]*object{}}
	if err := v.root(url, o.Size, 0); err != nil {
		return nil, err
	}
	if err := v.readObjects(); err != nil {
		return nil, err
	}
	if costs {
		if err := v.costs(); err != nil {
			return nil, err
		}
	}
	if err := v.values(); err != nil {
		return nil, err
	}
	if err := v.indexes(); err != nil {
		return nil, err
	}
	r := &v.report
	r.Objects, r.OK = len(v.objects), len(r.Errors) == 0
	if r.Errors == nil {
		r.Errors = []corrupt.Finding{}
	}
	return r, nil
}

// verifier collects what the metadata refers to, then reads it object by object.
type verifier struct {
	ctx     context.Context
	st      Store
	o       Options
	report  corrupt.Report
	objects map[string]*object
	order   []*object
	top     *meta.Root // the shard's own root, nil if it can't be read
	// described are the indexes in the descriptions of its fields, by stripe, those of the shard as a whole with -1.
	described map[int][]describedIndexes
}

// describedIndexes are the indexes of a field, and the object that describes it.
type describedIndexes struct {
	of     *metapb.IndexCollection
	anchor string
}

// describe notes the indexes of a field of the shard itself.
func (w *walk) describe(stripe int, of *metapb.IndexCollection, anchor string) {
	if of == nil || w.r != w.v.top {
		return
	}
	if w.v.described == nil {
		w.v.described = map[int][]describedIndexes{}
	}
	w.v.described[stripe] = append(w.v.described[stripe], describedIndexes{of, anchor})
}

// found reports damage at an offset of an object.
func (v *verifier) found(object string, offset int64, format string, args ...any) {
	if len(v.report.Errors) < maxFindings {
		v.report.Errors = append(v.report.Errors, corrupt.Finding{Object: object, Offset: offset, What: fmt.Sprintf(format, args...)})
	}
}

// judge turns an error into a finding if it is about stored data, and returns it if it is not. Errors that name
// no object are placed at base of the given one.
func (v *verifier) judge(err error, object string, base int64) error {
	if err == nil {
		return nil
	}
	err = corrupt.Locate(err, object, base)
	var damage *corrupt.Error
	var blob *blobio.Error
	switch {
	case errors.As(err, &damage):
		v.found(damage.Object, damage.Offset, "%s", what(damage))
		return nil
	case errors.Is(err, urlresolve.ErrRefused):
		v.found(object, -1, "%s", err)
		return nil
	case errors.Is(err, blobio.ErrNotFound), errors.Is(err, blobio.ErrRange):
		name := object
		if errors.As(err, &blob) && blob.URL != "" {
			name = blob.URL
		}
		text := "the object is missing"
		if errors.Is(err, blobio.ErrRange) {
			text = "the object is shorter than its references"
		}
		v.found(name, -1, "%s", text)
		return nil
	}
	return err
}

func what(e *corrupt.Error) string {
	text := e.What
	if errors.Is(e.Kind, corrupt.ErrUnsupported) {
		text = "not supported: " + text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// checked counts bytes as read and checked.
func (v *verifier) checked(bytes int64) {
	v.report.Bytes += bytes
	if v.o.Progress != nil {
		v.o.Progress(bytes)
	}
}
