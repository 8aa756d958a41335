package manifest

import (
	"encoding/binary"
	"path"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// TermFilter is where the filters of some stripes of a shard lie: side by side in a matrix, of one index each. The shard's
// entry carries it as the lower bound of a private field; what it leads to is consulted before anything of the shard is read.
type TermFilter struct {
	// Object is relative to the folder of the shard's root; the matrix lies in it from Start on.
	Object string
	Start  int64
	index.Matrix
	// Column is that of stripe Stripe, and Count stripes from there on have the columns that follow.
	Column, Stripe, Count int
	// Hash: of hashed values, else of terms.
	Hash   bool
	Fields []TermField
}

// TermField is a field whose values a filter knows.
type TermField struct {
	// ID is its Iceberg field id, Type what its type was when the filter was made.
	ID        int
	Type      string
	Tokenizer string // of terms
	Prefix    string // before values that are hashed
}

const (
	termsVersion = 1
	// maxTerms bounds what an entry carries of term filters: a manifest of a thousand entries stays below some MiB.
	maxTerms = 4 << 10
)

// encodeTerms is what the entry of a root at url carries of its term filters, "" for none. An entry with more than maxTerms bytes is
// written without.
func encodeTerms(url string, all []TermFilter) string {
	if len(all) == 0 {
		return ""
	}
	b := []byte{termsVersion}
	b = binary.LittleEndian.AppendUint64(b, xxh3.HashString(path.Base(url)))
	number := func(v int) { b = binary.AppendUvarint(b, uint64(v)) }
	text := func(s string) { number(len(s)); b = append(b, s...) }
	number(len(all))
	for _, f := range all {
		text(f.Object)
		number(int(f.Start))
		b = binary.LittleEndian.AppendUint64(b, f.ID)
		for _, v := range []int{f.Rows, f.Columns, f.Column, f.Stripe, f.Count} {
			number(v)
		}
		hash := 0
		if f.Hash {
			hash = 1
		}
		number(hash)
		number(len(f.Fields))
		for _, x := range f.Fields {
			number(x.ID)
			text(x.Type)
			text(x.Tokenizer)
			text(x.Prefix)
		}
	}
	return string(b)
}

// joinRuns makes one run of filters that lie one behind the other.
func joinRuns(all []TermFilter) (out []TermFilter) {
	for _, f := range all {
		out = appendRun(out, f)
	}
	return out
}

// TermRuns are the term filters of the entry as it carries them: runs of stripes whose filters lie side by side. It is nil if the entry has none.
func (e *Entry) TermRuns() []TermFilter { return decodeTerms(e.Path, e.Terms) }

// SetTermRuns changes the term filters of the entry; those that lie one behind the other become one run. An entry whose filters
// would take more than 4 KiB carries none.
func (e *Entry) SetTermRuns(runs []TermFilter) { e.Terms = encodeTerms(e.Path, joinRuns(runs)) }

// InheritTerms leads the entry of a merged shard to the term filters that the entries of its inputs lead to, which a commit may have joined, instead of
// those that its root names. The inputs are all that were merged, in their order and with all of their stripes; where the stripes don't add up, nothing changes.
// A filter stays as the root names it where no input has one of the same stripe and fields.
func (e *Entry) InheritTerms(inputs []*Entry, p urlresolve.Policy) {
	stripes, theirs := int64(0), map[int][]TermFilter{} // by stripe, each of that stripe alone
	for _, in := range inputs {
		for _, r := range in.TermRuns() {
			object, err := urlresolve.Resolve(in.Path, r.Object, p)
			if err != nil || int64(r.Stripe)+int64(r.Count) > in.Stripes {
				continue
			}
			r.Object = urlresolve.Relative(e.Path, object)
			for k := range r.Count {
				x := r.only(k)
				x.Stripe += int(stripes)
				theirs[x.Stripe] = append(theirs[x.Stripe], x)
			}
		}
		stripes += in.Stripes
	}
	if stripes != e.Stripes {
		return
	}
	var out []TermFilter
	for _, r := range e.TermRuns() {
		for k := range r.Count {
			x := r.only(k)
			of := theirs[x.Stripe]
			if i := slices.IndexFunc(of, func(y TermFilter) bool { return y.Hash == x.Hash && slices.Equal(y.Fields, x.Fields) }); i >= 0 {
				x = of[i]
			}
			out = appendRun(out, x)
		}
	}
	e.SetTermRuns(out)
}

// only is the filter of the k-th stripe of a run.
func (f TermFilter) only(k int) TermFilter {
	f.Column, f.Stripe, f.Count = f.Column+k, f.Stripe+k, 1
	return f
}

// TermObjects are the objects that hold the term filters which a data file leads to, as far as p allows them.
func TermObjects(f iceberg.DataFile, p urlresolve.Policy) (out []string) {
	for _, x := range decodeTerms(f.FilePath(), string(f.LowerBoundValues()[fieldTerms])) {
		if object, err := urlresolve.Resolve(f.FilePath(), x.Object, p); err == nil {
			out = append(out, object)
		}
	}
	return out
}

// decodeTerms reads what encodeTerms made for the same root; nil if it is anything else.
func decodeTerms(url, terms string) (out []TermFilter) {
	d := termsDecoder{rest: []byte(terms)}
	if d.byte() != termsVersion || d.fixed() != xxh3.HashString(path.Base(url)) {
		return nil
	}
	for range d.count() {
		f := TermFilter{Object: d.text(), Start: int64(d.number())}
		f.ID = d.fixed()
		for _, v := range []*int{&f.Rows, &f.Columns, &f.Column, &f.Stripe, &f.Count} {
			*v = d.number()
		}
		f.Hash = d.number() == 1
		for range d.count() {
			f.Fields = append(f.Fields, TermField{ID: d.number(), Type: d.text(), Tokenizer: d.text(), Prefix: d.text()})
		}
		if d.bad || !f.Valid() || f.Count < 1 || f.Column > f.Columns-f.Count {
			return nil
		}
		out = append(out, f)
	}
	if len(d.rest) > 0 {
		return nil
	}
	return out
}

// termsDecoder reads the parts of an encoding; bad once one is not there.
type termsDecoder struct {
	rest []byte
	bad  bool
}

func (d *termsDecoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.rest) {
		d.bad, d.rest = true, nil
		return make([]byte, 8)
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *termsDecoder) byte() byte    { return d.take(1)[0] }
func (d *termsDecoder) fixed() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }

// number is at most 2^31-1.
func (d *termsDecoder) number() int {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > 1<<31-1 {
		d.take(-1)
		return 0
	}
	d.take(n)
	return int(v)
}

// count is a number of things that take a byte each at least.
func (d *termsDecoder) count() int {
	n := d.number()
	if n > len(d.rest) {
		d.take(-1)
		return 0
	}
	return n
}

func (d *termsDecoder) text() string {
	n := d.number()
	if d.bad || n > len(d.rest) {
		d.take(-1)
		return ""
	}
	return string(d.take(n))
}

// termFilters are the term filters of all stripes of a shard, each with those that follow it in its matrix. ids are the field ids of
// the shard's nodes.
func termFilters(url string, stripes [][]*index.TermFilter, ids []int) (out []TermFilter) {
	for stripe, filters := range stripes {
		for _, f := range filters {
			if x, ok := termFilterOf(url, f, stripe, ids); ok {
				out = appendRun(out, x)
			}
		}
	}
	return out
}

func termFilterOf(root string, f *index.TermFilter, stripe int, ids []int) (x TermFilter, ok bool) {
	x = TermFilter{Object: urlresolve.Relative(root, f.Object), Start: f.Start, Matrix: f.Matrix, Column: f.Column, Stripe: stripe, Count: 1, Hash: f.Hash}
	for _, n := range f.Fields {
		if int(n.Node) >= len(ids) || ids[n.Node] == 0 {
			continue
		}
		field := TermField{ID: ids[n.Node], Type: n.Type, Prefix: n.Prefix}
		if !f.Hash {
			field.Tokenizer = n.Tokenizer.String()
		}
		x.Fields = append(x.Fields, field)
	}
	return x, len(x.Fields) > 0
}

// appendRun appends a filter, or lets the run that it goes on with be longer.
func appendRun(out []TermFilter, x TermFilter) []TermFilter {
	for i := range out {
		r := &out[i]
		if r.Stripe+r.Count == x.Stripe && r.Column+r.Count == x.Column && r.Object == x.Object && r.Start == x.Start &&
			r.Matrix == x.Matrix && r.Hash == x.Hash && slices.Equal(r.Fields, x.Fields) {
			r.Count += x.Count
			return out
		}
	}
	return append(out, x)
}

// TermFilters are the term filters of an entry's shard, stripe by stripe, in terms of the table's schema: nil if the entry has none.
// Those that p refuses are left out.
func (t *TableSchema) TermFilters(e *Entry, p urlresolve.Policy) [][]*index.TermFilter {
	runs := e.TermRuns()
	if len(runs) == 0 || e.Stripes < 1 || e.Stripes > maxSiftedStripes {
		return nil
	}
	out := make([][]*index.TermFilter, e.Stripes)
	for i := range runs {
		r := &runs[i]
		object, err := urlresolve.Resolve(e.Path, r.Object, p)
		fields := t.filterFields(r)
		if err != nil || len(fields) == 0 || int64(r.Stripe)+int64(r.Count) > e.Stripes {
			continue
		}
		for k := range r.Count {
			out[r.Stripe+k] = append(out[r.Stripe+k], &index.TermFilter{Object: object, Start: r.Start, Matrix: r.Matrix, Column: r.Column + k, Hash: r.Hash, Fields: fields})
		}
	}
	return out
}

// maxSiftedStripes bounds what an entry may claim of its stripes where memory follows it.
const maxSiftedStripes = 1 << 16

// filterFields are the fields of a filter by the nodes of the table's schema.
func (t *TableSchema) filterFields(r *TermFilter) (out []index.TermField) {
	for _, x := range r.Fields {
		n := t.Node(x.ID)
		var z index.Tokenizer
		err := z.Set(x.Tokenizer)
		if n == nil || err != nil || !r.Hash && n.Basic != schema.String && !n.IsDynamic() {
			continue
		}
		out = append(out, index.TermField{Node: n.ID, Type: x.Type, Tokenizer: z, Prefix: x.Prefix})
	}
	return out
}
