package layerindex

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"iter"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/internal/layer"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// Type is the type of layer indexes in descriptors, artifactName what their only artifact is called.
const (
	Type         = meta.LayerIndexType
	artifactName = "layer"
)

// Names of properties.
const (
	propertyLayers   = "layers"
	propertyUnique   = "unique"
	propertyNulls    = "nulls"
	propertyOrder    = "order"
	propertyKeyBytes = "key_bytes"

	orderTyped, orderBytes = "typed", "bytes"
)

// Blocks of a file: in one of a million keys the index blocks lie in the 64 KiB at the end that opening reads, so that a key
// costs one block of each column more.
const (
	dataBlock  = 16 << 10
	indexBlock = 32 << 10
	// writeBuffer is how much is gathered before it is handed to the store's writer.
	writeBuffer = 256 << 10
)

// DefaultMemory is how many bytes of keys a Builder holds before they go to temporary files.
const DefaultMemory = 32 << 20

// Builder collects keys and positions and writes an index of them. Not for concurrent use.
type Builder struct {
	// Encoded means that keys are encodings of values: of decimals, or of several columns.
	Encoded bool

	form   Form
	sorter *extsort.Sorter
	added  bool
}

// NewBuilder starts an index that holds memory bytes at most, DefaultMemory if 0.
func NewBuilder(form Form, memory int) *Builder {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Builder{form: form, sorter: extsort.New(memory)}
}

// Add notes that the record at a position has a key, given by the bytes that AppendSigned and the like make. Positions must not
// fall from one call to the next.
func (b *Builder) Add(key []byte, position uint64) error {
	var value [8]byte
	binary.BigEndian.PutUint64(value[:], position)
	b.added = true
	return b.sorter.Add(key, value[:])
}

// Size is about how many bytes are held.
func (b *Builder) Size() int { return b.sorter.Held() }

// Close lets go of what was added, and of temporary files.
func (b *Builder) Close() error { return b.sorter.Close() }

// Store is what writing an index needs of an object store; a *blobio.Client is one.
type Store = shardwriter.Store

// Object is one that was written.
type Object struct {
	URL  string
	Size int64
}

// Write writes the index as one object and describes it; the description is nil if nothing was added. After an error the objects are
// those that were written all the same. The builder is used up.
func (b *Builder) Write(ctx context.Context, to shardwriter.IndexTarget) (d *metapb.IndexDescriptor, objects []Object, err error) {
	defer b.Close()
	if !b.added {
		return nil, nil, nil
	}
	return writeIndex(ctx, to, b.form, b.Encoded, b.sorter.Sorted())
}

// writeIndex writes an index of sorted keys, each record with a position of eight bytes, and describes it.
func writeIndex(ctx context.Context, to shardwriter.IndexTarget, form Form, encoded bool, keys iter.Seq2[extsort.Record, error]) (d *metapb.IndexDescriptor, objects []Object, err error) {
	o := Object{URL: to.Prefix + artifactName + ".amudai.layer"}
	unique, err := create(ctx, to.Store, form, keys, &o)
	if err != nil {
		return nil, nil, err
	}
	order := orderTyped
	if encoded {
		order = orderBytes
	}
	size := uint64(o.Size)
	d = &metapb.IndexDescriptor{
		IndexType: Type, IndexSize: &size,
		Artifacts: []*metapb.IndexArtifact{{Name: artifactName, DataRef: meta.NewRef(urlresolve.Relative(to.Root, o.URL), 0, size)}},
		Properties: []*metapb.NameValuePair{
			meta.Pair(propertyLayers, meta.Uint(2)),
			meta.Pair(propertyUnique, meta.Bool(unique)),
			meta.Pair(propertyNulls, meta.Text("skipped")),
			meta.Pair(propertyOrder, meta.Text(order)),
			meta.Pair(propertyKeyBytes, meta.Uint(MaxKey)),
		},
	}
	return d, []Object{o}, nil
}

// create writes the file, and notes its size.
func create(ctx context.Context, st Store, form Form, keys iter.Seq2[extsort.Record, error], o *Object) (unique bool, err error) {
	to, err := st.Create(ctx, o.URL, blobio.CreateOptions{})
	if err != nil {
		return false, err
	}
	buffered := bufio.NewWriterSize(to, writeBuffer)
	count := &counter{w: buffered}
	if unique, err = writeFile(ctx, count, form, keys); err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		to.Abort()
		return false, err
	}
	o.Size = count.n
	return unique, to.Close()
}

// counter counts bytes.
type counter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// checkEvery is after how many records a builder looks whether it was stopped.
const checkEvery = 1 << 16

// writeFile writes the sorted keys, each behind its positions; unique reports whether each has one.
func writeFile(ctx context.Context, to io.Writer, form Form, keys iter.Seq2[extsort.Record, error]) (unique bool, err error) {
	w, err := layer.NewWriter(to, form.types(), layer.WriteOptions{
		MinDataBlock: dataBlock, MinIndexBlock: indexBlock, Compression: layer.Snappy, SelfDescribing: true,
	})
	if err != nil {
		return false, err
	}
	unique = true
	var last []byte
	var before uint64
	begun, n := false, 0
	for r, err := range keys {
		if err != nil {
			return false, err
		}
		if n++; n%checkEvery == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		position := binary.BigEndian.Uint64(r.Value)
		same := begun && bytes.Equal(last, r.Key)
		switch {
		case same && position == before: // of two items of one list
			continue
		case same:
			unique = false
		case begun:
			if err := w.Write(0, form.value(last), layer.Value{}); err != nil {
				return false, err
			}
		}
		if err := w.Write(1, layer.Value{Uint: position}, layer.Value{}); err != nil {
			return false, err
		}
		last, before, begun = append(last[:0], r.Key...), position, true
	}
	if err := w.Write(0, form.value(last), layer.Value{}); err != nil {
		return false, err
	}
	return unique, w.Close()
}
