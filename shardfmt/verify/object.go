package verify

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// object is what the metadata states about one object.
type object struct {
	url    string
	isRoot bool
	// draft: it is on the draft wire, and its messages are laid out again behind its end, see meta.Root.Draft.
	draft  bool
	pieces []piece
	sums   []*ranges.Sum
	// known are the sums by what they state; ends are, once the sums are sorted, the farthest end of each and those before it.
	known map[statedSum]bool
	ends  []int64
	// whole is the size that something states about the object as a whole, 0 if nothing does.
	whole int64
	// external: it is a Parquet file of somebody else.
	external bool
	// layer is the index that the object is the layer file of, nil for shards and their data.
	layer *layerIndex
}

// statedSum is a checksum that a stripe states.
type statedSum struct {
	start, end int64
	want       uint64
}

// piece is a byte range with the check of its bytes.
type piece struct {
	start, end int64
	// check judges the bytes; nil checks nothing but that they exist. It returns how many of them nothing protects.
	check func(data []byte) (unprotected int64, err error)
	// name is what the bytes are of, which errors begin with; it may be empty.
	name string
	// unprotected: no rule of the wire protects the bytes.
	unprotected bool
	// twice: the same range was a piece before, as where a merge took one shard twice.
	twice bool
}

// object finds or adds an object by its URL.
func (v *verifier) object(url string) *object {
	if o, ok := v.objects[url]; ok {
		return o
	}
	o := &object{url: url}
	v.objects[url] = o
	v.order = append(v.order, o)
	return o
}

func (o *object) add(p piece) { o.pieces = append(o.pieces, p) }

func (o *object) addSum(start, end int64, want uint64) {
	stated := statedSum{start, end, want}
	if o.known[stated] {
		return
	}
	if o.known == nil {
		o.known = map[statedSum]bool{}
	}
	o.known[stated] = true
	o.sums = append(o.sums, ranges.NewSum(start, end, want))
	o.add(piece{start: end, end: end}) // so that the object is read up to there
}

// summed is how many bytes have a stored checksum.
func (o *object) summed() (n int64) {
	end := int64(0)
	for _, s := range o.sums {
		n += max(0, s.End-max(s.Start, end))
		end = max(end, s.End)
	}
	return n
}

// parquetMagic is the length of what a Parquet file starts with, which is compared.
const parquetMagic = 4

// checkMagic checks the start of a Parquet file.
func checkMagic(data []byte) (unprotected int64, err error) {
	if string(data) != "PAR1" {
		err = corrupt.At(0, "the file does not start with the Parquet magic")
	}
	return 0, err
}

// reach is where the last piece ends.
func (o *object) reach() (end int64) {
	for _, p := range o.pieces {
		end = max(end, p.end)
	}
	return end
}

// sortSums puts the checksums in the order in which the object is read.
func (o *object) sortSums() {
	slices.SortStableFunc(o.sums, func(a, b *ranges.Sum) int { return cmp.Compare(a.Start, b.Start) })
	o.ends = make([]int64, len(o.sums))
	farthest := int64(0)
	for i, s := range o.sums {
		farthest = max(farthest, s.End)
		o.ends[i] = farthest
	}
}

// before is the farthest end of the checksums that start before an offset.
func (o *object) before(offset int64) int64 {
	i, _ := slices.BinarySearchFunc(o.sums, offset, func(s *ranges.Sum, offset int64) int { return cmp.Compare(s.Start, offset) })
	if i == 0 {
		return 0
	}
	return o.ends[i-1]
}

// covered reports whether a stored checksum covers a range.
func (o *object) covered(start, end int64) bool { return o.before(start+1) >= end }

func (v *verifier) readObjects() error {
	if v.o.Expect != nil {
		bytes := int64(0)
		for _, o := range v.order {
			bytes += o.reach()
		}
		v.o.Expect(bytes)
	}
	for _, o := range v.order {
		if err := v.judge(v.readObject(o), o.url, 0); err != nil {
			return err
		}
	}
	return nil
}

// frameSize is the length of the magic at both ends of an object.
const frameSize = int64(len(meta.Magic))

// readObject reads an object once from front to back and checks its pieces on the way.
func (v *verifier) readObject(o *object) error {
	if o.layer != nil {
		return v.readLayer(o)
	}
	info, err := v.st.Stat(v.ctx, o.url)
	if err != nil {
		return err
	}
	if o.whole > 0 && o.whole != info.Size {
		v.found(o.url, -1, "the object has %d bytes, but its references say %d", info.Size, o.whole)
	}
	o.sortSums()
	rd := &reader{v: v, o: o, size: info.Size}
	if err := rd.frame(); err != nil {
		return err
	}
	slices.SortStableFunc(o.pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	for i, p := range o.pieces {
		if i > 0 && p.start == o.pieces[i-1].start && p.end == o.pieces[i-1].end {
			p.twice = true
		}
		if o.draft && p.start >= info.Size {
			continue // a message, whose checksum was verified when the root was opened
		}
		if p.end > info.Size {
			v.found(o.url, p.start, "a reference to [%d, %d) ends beyond the object, which has %d bytes", p.start, p.end, info.Size)
			continue
		}
		if err := rd.piece(p); err != nil {
			return err
		}
	}
	if err := rd.rest(); err != nil {
		return err
	}
	if o.external {
		v.report.UnprotectedBytes += info.Size - parquetMagic - o.summed()
	}
	return rd.finish()
}

// reader goes through one object.
type reader struct {
	v    *verifier
	o    *object
	size int64
	// pos is the end of what was read.
	pos int64
	// whole are how many of the sums need no more bytes.
	whole int
	// last is the piece read last, since merged roots name the same one twice.
	last []byte
	from int64
}

// maxRead bounds a single request.
const maxRead = 8 << 20

// read gets [start, end) and feeds what is new of it to the checksums.
func (r *reader) read(start, end int64) ([]byte, error) {
	if r.last != nil && start >= r.from && end <= r.from+int64(len(r.last)) {
		return r.last[start-r.from : end-r.from], nil
	}
	data := make([]byte, end-start)
	for at := int64(0); at < int64(len(data)); at += maxRead {
		part := data[at:min(at+maxRead, int64(len(data)))]
		if _, err := r.v.st.ReadRange(r.v.ctx, r.o.url, start+at, part); err != nil {
			return nil, err
		}
	}
	if end > r.pos {
		fresh := data
		if start < r.pos {
			fresh = data[r.pos-start:]
		}
		r.v.checked(int64(len(fresh)))
		r.feed(end-int64(len(fresh)), fresh)
		r.pos = end
	}
	r.last, r.from = data, start
	return data, nil
}

// feed gives the checksums bytes that were not read before.
func (r *reader) feed(start int64, fresh []byte) {
	for r.whole < len(r.o.sums) && r.o.sums[r.whole].End <= start {
		r.whole++
	}
	for _, s := range r.o.sums[r.whole:] {
		if s.Start >= start+int64(len(fresh)) {
			return
		}
		s.Feed(start, fresh)
	}
}

// frame checks the magic at both ends of an object other than the root, whose ends were checked on opening.
// An object without either is another kind of file, which the wire allows.
func (r *reader) frame() error {
	if r.size < 2*frameSize {
		return nil
	}
	head, tail := make([]byte, frameSize), make([]byte, frameSize)
	if _, err := r.v.st.ReadRange(r.v.ctx, r.o.url, 0, head); err != nil {
		return err
	}
	if _, err := r.v.st.ReadRange(r.v.ctx, r.o.url, r.size-frameSize, tail); err != nil {
		return err
	}
	headOK, tailOK := isMagic(head), isMagic(tail)
	switch {
	case !headOK && (tailOK || r.o.isRoot):
		r.v.found(r.o.url, 0, "the object does not start with the magic, but ends with it")
	case headOK && tailOK && !bytes.Equal(head, tail):
		r.v.found(r.o.url, r.size-frameSize, "the magics at the start and at the end of the object differ")
	case headOK && !tailOK:
		r.v.found(r.o.url, r.size-frameSize, "the object starts with the magic, but does not end with it")
	}
	return nil
}

// isMagic reports whether eight bytes are the magic of an object, of any patch and minor version.
func isMagic(b []byte) bool {
	const word, major = 4, 7
	return bytes.Equal(b[:word], meta.Magic[:word]) && b[major] == meta.Magic[major]
}

// piece reads up to a piece, checks the gap before it, and checks the piece.
func (r *reader) piece(p piece) error {
	if err := r.gap(p.start, p.end > p.start); err != nil {
		return err
	}
	data, err := r.read(p.start, p.end)
	if err != nil {
		return err
	}
	unprotected := int64(0)
	switch {
	case p.check != nil:
		n, err := p.check(data)
		if err := r.v.judge(named(err, p.name), r.o.url, p.start); err != nil {
			return err
		}
		unprotected = n
	case p.unprotected:
		unprotected = p.end - p.start
	}
	if !p.twice && !r.o.covered(p.start, p.end) {
		r.v.report.UnprotectedBytes += unprotected
	}
	return nil
}

// named gives an error of stored data the name of what the data is of.
func named(err error, name string) error {
	var damage *corrupt.Error
	if name == "" || !errors.As(err, &damage) {
		return err
	}
	of := *damage
	of.What = name + ": " + of.What
	return &of
}

// alignment of a buffer's start in its object.
const alignment = 64

// gap reads from the end of what was read to the next piece. Less than one alignment before a buffer is padding and
// must be zero; more is something that no reference reaches.
func (r *reader) gap(end int64, beforeBuffer bool) error {
	start := r.pos
	if start == 0 && r.size >= 2*frameSize {
		start = min(frameSize, end)
		if err := r.skip(0, start); err != nil {
			return err
		}
	}
	if start >= end {
		return nil
	}
	if end-start >= alignment || !beforeBuffer || r.o.external {
		return r.skip(start, end)
	}
	data, err := r.read(start, end)
	if err != nil {
		return err
	}
	if i := firstNonZero(data); i >= 0 {
		r.v.found(r.o.url, start+int64(i), "the padding before a buffer is not zero")
	}
	return nil
}

// skip reads [start, end) for the checksums only, and not at all where none wants it.
func (r *reader) skip(start, end int64) error {
	for start < end {
		to := min(end, start+maxRead)
		if r.wanted(start, to) {
			if _, err := r.read(start, to); err != nil {
				return err
			}
		}
		start = to
	}
	r.pos = max(r.pos, end)
	return nil
}

func (r *reader) wanted(start, end int64) bool { return r.o.before(end) > start }

// rest checks what comes after the last buffer: in an object of a stripe the magic, and nothing else.
func (r *reader) rest() error {
	if r.o.external {
		return nil
	}
	if r.o.isRoot {
		r.v.checked(max(0, r.size-r.pos))
		return nil
	}
	if end := r.size - frameSize; r.pos < end && len(r.o.pieces) > 0 && end-r.pos < alignment {
		data := make([]byte, end-r.pos)
		if _, err := r.v.st.ReadRange(r.v.ctx, r.o.url, r.pos, data); err != nil {
			return err
		}
		if i := firstNonZero(data); i >= 0 {
			r.v.found(r.o.url, r.pos+int64(i), "unreferenced bytes after the last buffer")
		}
	}
	return nil
}

// finish compares the checksums. Damage that another check placed inside the range already is not told twice.
func (r *reader) finish() error {
	for _, s := range r.o.sums {
		if s.Holds() {
			continue
		}
		if !r.foundWithin(s) {
			r.v.found(r.o.url, s.Start, "the bytes [%d, %d) differ from those written: checksum mismatch", s.Start, s.End)
		}
	}
	return nil
}

func (r *reader) foundWithin(s *ranges.Sum) bool {
	return slices.ContainsFunc(r.v.report.Errors, func(f corrupt.Finding) bool {
		return f.Object == r.o.url && f.Offset >= s.Start && f.Offset < s.End
	})
}

// firstNonZero is the index of the first byte that is not zero, -1 if all are.
func firstNonZero(data []byte) int {
	return slices.IndexFunc(data, func(c byte) bool { return c != 0 })
}
