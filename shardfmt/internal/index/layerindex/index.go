package layerindex

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/layer"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// Index is an opened layer index. Safe for concurrent use.
type Index struct {
	file *layer.File
	url  string
	form Form
	// keyBytes is to how many bytes keys are cut.
	keyBytes int
	encoded  bool
}

// Keys is a range of keys, given by the bytes that AppendSigned and the like make, uncut; nil is not a bound.
type Keys struct {
	Low, High []byte
	// LowOut and HighOut leave the bound itself out.
	LowOut, HighOut bool
}

// Key is the range of one key.
func Key(key []byte) Keys { return Keys{Low: key, High: key} }

// Open opens the index that d describes: one request. base is the object whose folder relative references start at.
func Open(ctx context.Context, st meta.Store, base string, d *metapb.IndexDescriptor, p urlresolve.Policy) (*Index, error) {
	keyBytes, err := Parse(d)
	if err != nil {
		return nil, corrupt.Locate(err, base, 0)
	}
	url, err := urlresolve.Resolve(base, d.Artifacts[0].DataRef.GetUrl(), p)
	if err != nil {
		return nil, err
	}
	x := &Index{url: url, keyBytes: keyBytes}
	order, _ := meta.Properties(d.Properties).Text(propertyOrder)
	x.encoded = order == orderBytes
	if x.file, err = layer.Open(ctx, only{st}, url, nil); err != nil {
		return nil, err
	}
	f := x.file.Description().Types
	form := slices.Index(forms[:], layer.TypesText(f))
	if form < 0 {
		return nil, corrupt.Locate(corrupt.Unsupported(-1, "a layer index of types %q", layer.TypesText(f)), url, 0)
	}
	x.form = Form(form)
	return x, nil
}

// Parse checks the descriptor of a layer index and reports to how many bytes its keys are cut.
func Parse(d *metapb.IndexDescriptor) (keyBytes int, err error) {
	if t := d.GetIndexType(); t != Type {
		return 0, corrupt.Unsupported(-1, "index type %q is not %s", t, Type)
	}
	if err := meta.NoReferences(d.Properties); err != nil {
		return 0, err
	}
	if n := len(d.Artifacts); n != 1 || d.Artifacts[0].GetDataRef().GetUrl() == "" {
		return 0, corrupt.At(-1, "a layer index of %d artifacts, expected one", n)
	}
	bag := meta.Properties(d.Properties)
	if layers, _ := meta.Uint64Of(bag.Get(propertyLayers)); layers != 2 {
		return 0, corrupt.Unsupported(-1, "a layer index of %d layers, expected 2", layers)
	}
	n, ok := meta.Uint64Of(bag.Get(propertyKeyBytes))
	if !ok || n == 0 || n > MaxKey {
		return 0, corrupt.Unsupported(-1, "a layer index whose keys are cut to %d bytes, 1 to %d are read", n, MaxKey)
	}
	return int(n), nil
}

// only is a store of which one object is read.
type only struct{ meta.Store }

var errOnly = errors.New("an index is read only")

// Stat implements fileformat.Store.
func (only) Stat(context.Context, string) (blobio.Info, error) { return blobio.Info{}, errOnly }

// List implements fileformat.Store.
func (only) List(context.Context, string) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) { yield(blobio.Info{}, errOnly) }
}

var _ fileformat.Store = only{}

// Types are those of the file's columns, in the words of package layer.
func (x *Index) Types() string { return forms[x.form] }

// ParseKey reads a key in JSON, a number or a string by the type of the keys, and gives its bytes as Keys takes them.
func (x *Index) ParseKey(text []byte) ([]byte, error) {
	key := make([]byte, 0, 8)
	switch x.Form() {
	case Signed:
		v, err := strconv.ParseInt(string(text), 10, 64)
		return AppendSigned(key, v), err
	case Unsigned:
		v, err := strconv.ParseUint(string(text), 10, 64)
		return AppendUnsigned(key, v), err
	case Float:
		var v float64
		err := json.Unmarshal(text, &v)
		return AppendFloat(key, v), err
	}
	var v string
	err := json.Unmarshal(text, &v)
	return append(key, v...), err
}

// Encoded reports whether keys are encodings of values, and not the values themselves.
func (x *Index) Encoded() bool { return x.encoded }

// Form is that of the keys.
func (x *Index) Form() Form { return x.form }

// Rows gives the records whose keys lie in any of some ranges, by ascending and disjoint ranges of positions. Where that are more than
// most, known is false, and their positions are not read. Positions must be below records.
func (x *Index) Rows(ctx context.Context, any []Keys, most, records uint64) (rows []ranges.Range, known bool, err error) {
	groups := make([]layer.Group, 0, len(any))
	count := uint64(0)
	for _, k := range any {
		g, err := x.find(ctx, k)
		if err != nil {
			return nil, false, err
		}
		if count += g.Len(); count > most {
			return nil, false, nil
		}
		groups = append(groups, g)
	}
	positions := make([]uint64, 0, min(count, fewPositions))
	for _, g := range groups {
		if positions, err = x.read(ctx, g, positions, records); err != nil {
			return nil, false, err
		}
	}
	slices.Sort(positions)
	for _, p := range positions {
		if n := len(rows); n > 0 && rows[n-1].End >= p {
			rows[n-1].End = p + 1
			continue
		}
		rows = append(rows, ranges.Range{Start: p, End: p + 1})
	}
	return rows, true, nil
}

// fewPositions is how many are made space for at once: a file may claim any number.
const fewPositions = 4096

// find gives the rows of the second column that belong to a range of keys.
func (x *Index) find(ctx context.Context, k Keys) (layer.Group, error) {
	all := x.file.Group()
	low, lowOut := x.cut(k.Low, k.LowOut)
	high, highOut := x.cut(k.High, k.HighOut)
	if k.Low != nil && k.High != nil && slices.Equal(low, high) && !lowOut && !highOut {
		c, err := x.file.Lookup(ctx, x.form.value(low))
		if err != nil || c == nil {
			return layer.Group{}, err
		}
		return c.Group()
	}
	start, end := uint64(0), all.Len()
	var err error
	if k.Low != nil {
		start, err = x.rank(ctx, low, lowOut)
	}
	if err == nil && k.High != nil {
		end, err = x.rank(ctx, high, !highOut)
	}
	if err != nil || start >= end {
		return layer.Group{}, err
	}
	return all.Subset(start, end).Owned(ctx)
}

// cut makes of a bound what it is among the keys of the file: of one that is longer than they are, the rest belongs to the range.
func (x *Index) cut(key []byte, out bool) ([]byte, bool) {
	if x.form == Bytes && len(key) >= x.keyBytes {
		return key[:x.keyBytes], false
	}
	return key, out
}

// rank is how many keys lie below one, itself included if after is set.
func (x *Index) rank(ctx context.Context, key []byte, after bool) (uint64, error) {
	c := x.file.Group().Cursor()
	if err := c.SeekGE(ctx, x.form.value(key)); err != nil || !c.Valid() || !after {
		return c.Row(), err
	}
	found, err := c.Key()
	if err == nil && x.form.compare(found, key) == 0 {
		return c.Row() + 1, nil
	}
	return c.Row(), err
}

// read appends the positions of a group.
func (x *Index) read(ctx context.Context, g layer.Group, dst []uint64, records uint64) ([]uint64, error) {
	err := x.each(ctx, g, records, func(p uint64) { dst = append(dst, p) })
	return dst, err
}

// each calls do with the positions of a group, which must be below records.
func (x *Index) each(ctx context.Context, g layer.Group, records uint64, do func(uint64)) error {
	if g.Len() == 0 {
		return nil
	}
	c := g.Cursor()
	err := c.First(ctx)
	for ; err == nil && c.Valid(); err = c.Next(ctx) {
		v, err := c.Key()
		if err != nil {
			return err
		}
		if v.Uint >= records {
			return corrupt.Locate(corrupt.At(-1, "position %d of a stripe of %d records", v.Uint, records), x.url, 0)
		}
		do(v.Uint)
	}
	return err
}

// Verify reads all of the index and checks it: blocks, keys and their order, and that positions rise and are below records.
func (x *Index) Verify(ctx context.Context, records uint64) (*corrupt.Report, error) {
	report, err := x.file.Verify(ctx, fileformat.VerifyOptions{})
	if err != nil || !report.OK {
		return report, err
	}
	all, err := x.file.Group().Owned(ctx)
	if err == nil {
		err = x.each(ctx, all, records, func(uint64) {})
	}
	if err := report.Judge(err); err != nil {
		return nil, err
	}
	report.OK = len(report.Errors) == 0
	return report, nil
}

// Counts are how many different keys and how many positions the index has.
func (x *Index) Counts() (keys, positions uint64) { return x.file.Rows(0), x.file.Rows(1) }
