package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// PackOptions of Pack. Object must be set.
type PackOptions struct {
	Options
	// Object is the URL of the new object that takes the data. It must not exist yet.
	Object string
	// All copies the data of every object, whatever its size, and not only where that pays; see PackCount.
	All bool
	// Copy is All for data in one object too, which packing would leave there: nothing of the inputs is needed afterwards.
	Copy bool
	// Optional: where the inputs have fields that this program does not know, or with All nothing can be copied, they are concatenated as they are.
	Optional bool
}

// ErrNothingToPack: the inputs' data lies in too few small objects for a copy to pay.
var ErrNothingToPack = errors.New("nothing to pack")

// Pack is Concat with the data of small objects copied into one new object, PackOptions.Object: bytes move as they are, nothing is decoded, and the
// references of the new root are those of Concat, shifted. Bytes whose checksum the inputs tell are held to it on the way. Both out and
// the object must not exist. After an error either may have been written; nothing refers to the object then but out.
//
// Of each copied object one range is read, from the first to the last byte that the inputs refer to, in requests of up to 8 MiB. Data of objects
// below 16 MiB is laid out in groups of stripes, column by column, and stripes that have checksums of it get one for each column instead.
// Objects that something names without a range, as Parquet files, stay where they are. A shard with protobuf fields that this program
// does not know is refused, unless PackOptions.Optional is set: they may refer to data.
func Pack(ctx context.Context, sp *blobio.Client, out string, inputs []Input, o PackOptions) (*Result, error) {
	wide := o.Options
	wide.Limits.Objects = -1 // most of them will be gone
	first, joined, err := concat(ctx, sp, out, inputs, wide)
	if err != nil {
		return nil, err
	}
	r, err := pack(ctx, sp, out, joined, o)
	if o.Optional && (errors.Is(err, errUnknownFields) || o.All && errors.Is(err, ErrNothingToPack)) {
		first.urls.most = o.Limits.withDefaults().Objects
		if err := first.urls.check(); err != nil {
			first.discard(ctx)
			return nil, err
		}
		return first.finish(ctx, joined)
	}
	if errors.Is(err, blobio.ErrExists) || errors.Is(err, ErrNothingToPack) { // else there may be a root that names them
		first.discard(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.Inputs, r.DroppedIndexes, r.JoinedIndexes, r.IndexBytes, r.Written = len(inputs), first.droppedIndexes, first.joinedIndexes, first.indexBytes, first.written
	return r, nil
}

// pack packs a root that was joined in memory.
func pack(ctx context.Context, sp *blobio.Client, out string, joined []byte, o PackOptions) (*Result, error) {
	o.Limits = o.Limits.withDefaults()
	if o.Attempt == "" {
		o.Attempt = newAttempt()
	}
	p := &packing{out: out, joined: joined, o: o.Options, places: &places{origins: map[string]*origin{}, stays: map[string]bool{}}}
	p.o.Limits.Objects = -1
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	moving := p.places.choose(o)
	if len(moving) == 0 {
		return nil, ErrNothingToPack
	}
	p.o.Limits = o.Limits
	l, err := p.lay(ctx, moving)
	if err != nil {
		return nil, err
	}
	moved, err := p.copy(ctx, sp, o.Object, l)
	if err != nil {
		return nil, err
	}
	if len(p.places.sums) > 0 { // which are known by now
		if err := p.build(ctx); err != nil {
			return nil, err
		}
	}
	if err := write(ctx, sp, out, p.root); err != nil {
		return nil, err
	}
	r := p.merger.result(p.root)
	r.Packed, r.BytesMoved = len(moving), moved
	return r, nil
}

// lay lays out what moves, by columns if the root stays within its limits, and builds the root: nothing is copied in vain.
func (p *packing) lay(ctx context.Context, moving []*origin) (*layout, error) {
	if l := p.places.layColumns(moving); l != nil {
		if err := p.build(ctx); !errors.Is(err, errLimit) {
			return l, err
		}
	}
	l := p.places.layWhole(moving)
	return l, p.build(ctx)
}

// packing moves the data of a root that was joined in memory.
type packing struct {
	out    string
	joined []byte
	o      Options
	places *places
	// merger built root last.
	merger *merger
	root   []byte
}

// build goes through the joined root, to learn its references or to make the root with moved ones.
func (p *packing) build(ctx context.Context) error {
	s, err := readRoot(ctx, joinedRoot(p.joined), Input{URL: p.out, Size: int64(len(p.joined))}, p.o)
	if err != nil {
		return err
	}
	if err := s.refuseUnknown(ctx); err != nil {
		return err
	}
	s.mapping, s.identical = identityMapping(s.schema.Count), true
	o := p.o
	o.AllowStandard = true // the inputs were called
	m := &merger{out: p.out, options: o, target: newSchemaTarget(s.schema, s.schemaWire, s.ids), shards: []*shard{s}, urls: newURLs(p.out, o)}
	m.urls.places = p.places
	p.merger = m
	p.root, err = m.build(ctx)
	return err
}

// joinedRoot is a root that is not written yet, as the only object of a store.
type joinedRoot []byte

// ReadRange implements meta.Store.
func (r joinedRoot) ReadRange(_ context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	if off < 0 || off+int64(len(dst)) > int64(len(r)) {
		return blobio.Info{}, fmt.Errorf("%s: %w", url, io.ErrUnexpectedEOF)
	}
	copy(dst, r[off:])
	return blobio.Info{URL: url, Size: int64(len(r))}, nil
}

// ReadSuffix implements meta.Store.
func (r joinedRoot) ReadSuffix(_ context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	return bytes.Clone(r[len(r)-int(min(n, int64(len(r)))):]), blobio.Info{URL: url, Size: int64(len(r))}, nil
}

// ReadRanges implements meta.Store.
func (r joinedRoot) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, at := range ranges {
		out[i] = make([]byte, at.Len())
		if _, err := r.ReadRange(ctx, url, at.Start, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const (
	// pieceSize is how much one request reads, piecesAhead how many are under way: 32 MiB of memory.
	pieceSize   = 8 << 20
	piecesAhead = 4
	// smallAhead is how many requests for small spans may be under way, of up to pieceSize bytes together.
	smallAhead = 64
	// mostHint bounds what is believed of a size before anything was read.
	mostHint = 64 << 30
)

// copyLeast is the size from which a range is copied by the store itself, where that can: below, to fetch the bytes that a part of an upload must have
// costs as much. Such bytes are not held to their checksums; those go along in the root.
var copyLeast int64 = 16 << 20

// copy writes the new object, and reports how many bytes its spans have. What the store copied is
// compared before anything refers to it; where it copied wrongly, or refuses to copy or to join what it copied, all
// bytes are fetched.
func (p *packing) copy(ctx context.Context, sp *blobio.Client, object string, l *layout) (moved int64, err error) {
	c, err := copyBy(ctx, sp, object, l, true)
	if err == nil && len(c.copied) > 0 {
		err = c.compare(ctx, object)
		if errors.Is(err, blobio.ErrDamaged) {
			if err := sp.Delete(ctx, object, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
				return 0, fmt.Errorf("%s: the store copied ranges incorrectly, and the object can't be deleted: %w", object, err)
			}
		}
	}
	if err != nil && c != nil && c.refused(ctx, err) {
		c, err = copyBy(ctx, sp, object, l, false)
	}
	if err != nil {
		return 0, err
	}
	return c.moved, nil
}

// copyBy writes the object, with ranges that the store copies if inStore.
func copyBy(ctx context.Context, sp *blobio.Client, object string, l *layout, inStore bool) (c *packed, err error) {
	w, err := sp.Create(ctx, object, blobio.CreateOptions{SizeHint: min(l.size, mostHint)})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Abort()
		}
	}()
	c = &packed{w: w, from: sp, check: newSumCheck(l.spans...)}
	if inStore {
		c.copier, _ = w.(blobio.RangeCopier)
	}
	if err := c.put(meta.Magic[:]); err != nil {
		return c, err
	}
	for _, g := range l.groups {
		if err := c.group(ctx, g); err != nil {
			return c, err
		}
	}
	if err := c.spans(ctx, l.spans); err != nil {
		return c, err
	}
	if err := c.put(meta.Magic[:]); err != nil {
		return c, err
	}
	if c.written != l.size {
		return c, fmt.Errorf("merge: %d bytes were packed, %d planned", c.written, l.size)
	}
	c.closed = true
	return c, w.Close()
}

// packed is the new object as it is written.
type packed struct {
	w io.Writer
	// copier is w if its store copies ranges, nil if not.
	copier blobio.RangeCopier
	from   *blobio.Client
	check  sumCheck
	// written are the bytes of the object so far, moved those of spans among them.
	written, moved int64
	// copied are the spans that the store copied, or was requested to.
	copied []span
	// closed: the object's last request was made.
	closed bool
}

// refused reports whether an error is about ranges that the store was to copy, and not about what is to be copied. An
// object whose last request has no answer may be there.
func (c *packed) refused(ctx context.Context, err error) bool {
	if len(c.copied) == 0 || ctx.Err() != nil {
		return false
	}
	switch blobio.Class(err) {
	case blobio.ErrExists, blobio.ErrChanged, blobio.ErrNotFound, blobio.ErrCanceled, blobio.ErrClosed:
		return false
	case blobio.ErrTransient, blobio.ErrThrottled:
		return !c.closed
	case blobio.ErrUnknown:
		var told *blobio.Error
		return errors.As(err, &told)
	}
	return true
}

// Of each range that the store copied, samples of sampleSize bytes are compared with their source: at both ends and one
// in each sampleStep.
const sampleSize, sampleStep = 1 << 10, 256 << 20

// readSamples reads each range by a request of its own: between them lies what is not to be fetched.
func readSamples(ctx context.Context, sp *blobio.Client, url string, ranges []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	return out, sp.Each(ctx, len(ranges), func(ctx context.Context, branch *blobio.Client, i int) error {
		out[i] = make([]byte, ranges[i].Len())
		_, err := branch.ReadRange(ctx, url, ranges[i].Start, out[i])
		return err
	})
}

// compare holds the size of the object, and samples of what the store copied, to what was planned: ErrDamaged if they differ.
func (c *packed) compare(ctx context.Context, object string) error {
	sp := c.from.Uncached()
	info, err := sp.Stat(ctx, object)
	if err != nil {
		return err
	}
	if info.Size != c.written {
		return blobio.NewError("copy", object, blobio.ErrDamaged, fmt.Errorf("%d bytes are present, %d were planned", info.Size, c.written))
	}
	for _, s := range c.copied {
		var of, at []blobio.Range
		for off := int64(0); off < s.size(); off += sampleStep {
			n := min(sampleSize, s.size()-off)
			of, at = append(of, blobio.Range{Start: s.start + off, End: s.start + off + n}), append(at, blobio.Range{Start: s.to + off, End: s.to + off + n})
		}
		n := min(sampleSize, s.size())
		of, at = append(of, blobio.Range{Start: s.end - n, End: s.end}), append(at, blobio.Range{Start: s.to + s.size() - n, End: s.to + s.size()})
		want, err := readSamples(ctx, sp, s.of.url, of)
		if err != nil {
			return err
		}
		got, err := readSamples(ctx, sp, object, at)
		if err != nil {
			return err
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				return blobio.NewError("copy", object, blobio.ErrDamaged, fmt.Errorf("the bytes from %d differ from those of %s from %d", at[i].Start, s.of.url, of[i].Start))
			}
		}
	}
	return nil
}

func (c *packed) put(b []byte) error {
	n, err := c.w.Write(b)
	c.written += int64(n)
	return err
}

// padTo writes zeros up to where a span goes.
func (c *packed) padTo(to int64) error { return c.put(make([]byte, to-c.written)) }

// spans writes spans in their order: large ones by the store itself where it can, those between them together.
func (c *packed) spans(ctx context.Context, moving []*span) error {
	for len(moving) > 0 {
		small := slices.IndexFunc(moving, func(s *span) bool { return c.copier != nil && s.size() >= copyLeast })
		if small < 0 {
			return c.read(ctx, moving)
		}
		if err := c.read(ctx, moving[:small]); err != nil {
			return err
		}
		if err := c.large(ctx, *moving[small]); err != nil {
			return err
		}
		moving = moving[small+1:]
	}
	return nil
}

// group writes a group: all of it is read, held to its checksums, and written span by span.
func (c *packed) group(ctx context.Context, g *group) error {
	data, all := map[*origin][]byte{}, []piece(nil)
	for _, o := range g.origins {
		data[o] = make([]byte, o.size())
		for at := int64(0); at < o.size(); at += pieceSize {
			all = append(all, piece{object: o.url, from: o.start + at, data: data[o][at:min(at+pieceSize, o.size())]})
		}
	}
	if err := readPieces(ctx, c.from, all); err != nil {
		return err
	}
	for _, o := range g.origins {
		if err := newSumCheck(&o.spans[0]).add(o.url, o.start, data[o]); err != nil {
			return err
		}
	}
	for _, s := range g.spans {
		b := data[s.of][s.start-s.of.start : s.end-s.of.start]
		s.sum = xxh3.Hash(b)
		if err := c.span(s.to, b); err != nil {
			return err
		}
	}
	return nil
}

// span writes bytes that go to to.
func (c *packed) span(to int64, b []byte) error {
	if err := c.padTo(to); err != nil {
		return err
	}
	c.moved += int64(len(b))
	return c.put(b)
}

// read writes spans whose bytes it fetches, and holds to their checksums.
func (c *packed) read(ctx context.Context, spans []*span) error {
	for batch := range batches(spans) {
		if err := readPieces(ctx, c.from, batch); err != nil {
			return err
		}
		for _, piece := range batch {
			if err := c.check.add(piece.object, piece.from, piece.data); err != nil {
				return err
			}
			if err := c.span(piece.to, piece.data); err != nil {
				return err
			}
		}
	}
	return nil
}

// large writes a span that the store is to copy, but for the bytes that must be fetched before it can.
func (c *packed) large(ctx context.Context, s span) error {
	if err := c.padTo(s.to); err != nil {
		return err
	}
	n := c.copier.CopyAfter()
	if n < 0 {
		return c.read(ctx, []*span{&s})
	}
	if n > 0 {
		if err := c.read(ctx, []*span{{of: s.of, start: s.start, end: s.start + n, to: s.to}}); err != nil {
			return err
		}
		s.start, s.to = s.start+n, s.to+n
	}
	err := c.copier.CopyRange(s.of.url, s.start, s.size(), "")
	if errors.Is(err, errors.ErrUnsupported) {
		return c.read(ctx, []*span{&s})
	}
	c.copied = append(c.copied, s)
	if err == nil {
		c.written, c.moved = c.written+s.size(), c.moved+s.size()
	}
	return err
}

// piece is what one request reads: data from from on, which goes to to.
type piece struct {
	object   string
	from, to int64
	data     []byte
}

// batches yields the pieces of spans, in order, some at a time.
func batches(moving []*span) func(yield func([]piece) bool) {
	return func(yield func([]piece) bool) {
		var batch []piece
		held := int64(0)
		for _, s := range moving {
			for at := s.start; at < s.end; {
				size := min(pieceSize, s.end-at)
				if len(batch) == smallAhead || held+size > piecesAhead*pieceSize {
					if !yield(batch) {
						return
					}
					batch, held = nil, 0
				}
				batch, held = append(batch, piece{s.of.url, at, s.to + at - s.start, make([]byte, size)}), held+size
				at += size
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// readPieces reads pieces, many at the same time.
func readPieces(ctx context.Context, sp *blobio.Client, all []piece) error {
	return sp.EachUpTo(ctx, smallAhead, len(all), func(ctx context.Context, branch *blobio.Client, i int) error {
		_, err := branch.ReadRange(ctx, all[i].object, all[i].from, all[i].data)
		return err
	})
}

// sumCheck holds bytes on their way to the checksums that are known of them.
type sumCheck map[string][]*sumUnderWay

type sumUnderWay struct {
	summed
	at   int64
	hash *xxh3.Hasher
}

// newSumCheck is of the checksums of the spans' origins.
func newSumCheck(spans ...*span) sumCheck {
	c := sumCheck{}
	for _, of := range spans {
		for _, s := range of.of.sums {
			c[of.of.url] = append(c[of.of.url], &sumUnderWay{s, s.start, xxh3.New()})
		}
	}
	return c
}

// add takes the next bytes of an object. Those of an object come in order.
func (c sumCheck) add(object string, from int64, data []byte) error {
	for _, s := range c[object] {
		low, high := max(s.at, from), min(s.end, from+int64(len(data)))
		if s.at != low || low >= high {
			continue
		}
		s.hash.Write(data[low-from : high-from])
		if s.at = high; s.at == s.end && s.hash.Sum64() != s.sum {
			return corrupt.Locate(corrupt.At(s.start, "the bytes up to %d differ from those written", s.end), object, 0)
		}
	}
	return nil
}
