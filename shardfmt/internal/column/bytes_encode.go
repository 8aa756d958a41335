package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// bytesEncoder is a field of byte strings. It tries a value dictionary first, and stores the values themselves
// as soon as the dictionary does not pay. With a bound on its entries, one dictionary that pays follows the other. Values in a
// dictionary get into the statistics when it ends, each once (see count).
type bytesEncoder struct {
	base
	fixed int
	enc   *encode.Encoder
	dict  *dictionaryBuilder // nil once given up
	limit int                // entries of a dictionary, 0 if there is no bound
	full  *dictionaries      // those before dict, nil if there are none
	// counted: the statistics have what is in dict.
	counted bool
	index   *decimalIndexBuilder
	// opaque is the opaque dictionary, empty until the first values are there, nil if there is none.
	opaque *encode.Dictionary

	data    []byte
	offsets []int64 // nil for values of one size
	valid   bitmap
	n       int // values staged
	out     colstream.StreamWriter

	// codes and ids are memory for coded columns.
	codes, ids []uint32
}

// newIndex is the builder of a field's range index, nil where it has none: only decimals do, and not those whose
// dictionaries were requested, of which there may be several.
func newIndex(b base) *decimalIndexBuilder {
	if !b.node.IsDecimal() || b.o.Profile == encode.Plain || b.o.Opaque[b.node.ID] || b.o.DictionaryEntries[b.node.ID] > 0 {
		return nil
	}
	return new(decimalIndexBuilder)
}

func newBytesEncoder(b base) *bytesEncoder {
	e := &bytesEncoder{base: b, enc: b.encoder(false), index: newIndex(b), out: b.stream()}
	if b.node.Basic == schema.FixedSizeBinary || b.node.Basic == schema.Guid {
		e.fixed = int(b.node.FixedSize)
	} else {
		e.offsets = []int64{0}
	}
	e.limit = b.o.DictionaryEntries[b.node.ID]
	switch {
	case b.o.Opaque[b.node.ID]:
		e.opaque = new(encode.Dictionary)
	case e.limit > 0:
		e.dict = e.newDictionary()
	case b.o.Profile == encode.Plain, b.o.Hints[b.node.ID] == encode.Sketch: // sketches do not repeat
	default:
		e.dict = e.newDictionary()
	}
	return e
}

// newDictionary begins a value dictionary.
func (e *bytesEncoder) newDictionary() *dictionaryBuilder {
	d := newDictionaryBuilder(e.fixed)
	d.decimals, d.memory = e.node.IsDecimal(), e.o.Memory
	return d
}

func (e *bytesEncoder) Add(a arrow.Array) error {
	if d, ok := a.(*array.Dictionary); ok {
		return e.addCoded(d)
	}
	values, i := viewsOf(a), 0
	for i < a.Len() && e.dict != nil {
		// Up to the check of whether the dictionary pays; values that may be one too many come one by one.
		n := min(dictionaryTrial-i%dictionaryTrial, a.Len()-i)
		if e.limit > 0 {
			n = 1
		}
		if n > 1 {
			e.dict.addAll(&values, i, i+n-1)
		}
		i += n
		if err := e.enter(values.at(i-1), i%dictionaryTrial == 0); err != nil {
			return err
		}
	}
	if e.dict != nil && !e.pays(false) {
		if err := e.giveUp(); err != nil {
			return err
		}
	}
	if i == a.Len() {
		return nil
	}
	rest := array.NewSlice(a, int64(i), int64(a.Len()))
	defer rest.Release()
	e.stats.Add(rest)
	return e.keepAll(&values, i, a.Len())
}

// keepAll takes values from one on up to another to be stored as they are.
func (e *bytesEncoder) keepAll(values *byteViews, from, to int) error {
	for from < to {
		if n := e.stageMany(values, from, to); n > 0 {
			if e.index != nil {
				e.index.addAll(values.data[from*e.fixed : (from+n)*e.fixed])
			}
			from += n
			continue
		}
		if err := e.keep(values.at(from)); err != nil {
			return err
		}
		from++
	}
	return nil
}

// stageMany stages values at once, as many as need no flush, of one size only where there are nulls neither among them nor before; it returns how many.
// What lies in the slots of nulls is staged with them, and left out by the encoder.
func (e *bytesEncoder) stageMany(values *byteViews, from, to int) int {
	to = min(to, from+encode.FlushValues-1-e.n)
	nulls := values.nulls || e.valid.bytes() != nil
	if e.fixed > 0 && nulls || from >= to {
		return 0
	}
	if e.fixed > 0 {
		to = min(to, from+(encode.FlushBytes-1-len(e.data))/e.fixed)
		if from >= to {
			return 0
		}
		e.data = append(e.data, values.data[from*e.fixed:to*e.fixed]...)
	} else {
		ends := values.ends[from : to+1]
		shift, limit := int64(len(e.data))-ends[0], ends[0]+int64(encode.FlushBytes-len(e.data))
		n := 0
		for _, end := range ends[1:] {
			if end >= limit {
				break
			}
			e.offsets = append(e.offsets, end+shift)
			n++
		}
		to = from + n
		e.data = append(e.data, values.data[ends[0]:ends[n]]...)
	}
	if nulls {
		e.valid.addBits(values.valid, values.offset+from, to-from, e.n)
	}
	e.n += to - from
	return to - from
}

// enter takes a value into the dictionary, which counts it for the statistics (see count), and gives the dictionary up where it
// is checked for whether it pays, and does not.
func (e *bytesEncoder) enter(v []byte, ask bool) error {
	if e.limit > 0 && e.dict.full(v, e.limit) {
		if err := e.nextDictionary(); err != nil {
			return err
		}
	}
	if e.dict == nil {
		e.stats.AddCounted(v, 1)
		return e.keep(v)
	}
	e.dict.add(v)
	if ask && !e.pays(false) {
		return e.giveUp()
	}
	return nil
}

// count gives the statistics the values of the dictionary, each once with how often it came, in the order in which they first did.
func (e *bytesEncoder) count() {
	for id, n := range e.dict.counts {
		e.stats.AddCounted(e.dict.value(uint32(id)), uint64(n))
	}
}

// keep takes a value to be stored as it is.
func (e *bytesEncoder) keep(v []byte) error {
	if err := e.stage(v); err != nil {
		return err
	}
	if e.index != nil {
		e.index.add(v)
	}
	return nil
}

// pays reports whether the field is stored with dictionaries; once one is full, it is.
func (e *bytesEncoder) pays(end bool) bool { return e.full != nil || e.dict.pays(end) }

// nextDictionary begins another dictionary, if the one that is full pays.
func (e *bytesEncoder) nextDictionary() error {
	if !e.pays(false) {
		return e.giveUp()
	}
	if e.full == nil {
		e.full = new(dictionaries)
	}
	e.count()
	err := e.full.add(e.dict, e.node.Basic, e.encoder(true))
	e.dict = e.newDictionary()
	return err
}

// giveUp moves what the dictionary holds to where values are stored as they are.
func (e *bytesEncoder) giveUp() error {
	if !e.counted {
		e.count()
	}
	d := e.dict
	e.dict = nil
	for _, id := range d.codes {
		if err := e.keep(d.value(id)); err != nil {
			return err
		}
	}
	d.release()
	return nil
}

// stage takes one value, nil for a null.
func (e *bytesEncoder) stage(v []byte) error {
	e.valid.set(v != nil, e.n)
	e.n++
	if v == nil && e.fixed > 0 {
		e.data = append(e.data, make([]byte, e.fixed)...)
	} else {
		e.data = append(e.data, v...)
	}
	if e.fixed == 0 {
		e.offsets = append(e.offsets, int64(len(e.data)))
	}
	if e.n < encode.FlushValues && len(e.data) < encode.FlushBytes {
		return nil
	}
	return e.flush(false)
}

// learn makes the opaque dictionary of the first values, if they have enough in common to say.
func (e *bytesEncoder) learn() {
	if e.opaque = encode.SampleDictionary(opaqueID, e.data, e.offsets, e.fixed); e.opaque != nil {
		o := encode.Options{Profile: e.o.Profile, Dictionary: e.opaque}
		e.enc = encode.NewEncoder(o)
	}
}

// opaqueID is the buffer id of the opaque dictionary that a field is written with.
const opaqueID = 1

// flush cuts blocks from what is staged.
func (e *bytesEncoder) flush(final bool) error {
	if e.opaque != nil && e.opaque.ID == 0 {
		e.learn()
	}
	taken, err := e.enc.CutBytes(encode.Bytes{Data: e.data, Offsets: e.offsets, Fixed: e.fixed, Valid: e.valid.bytes()}, final, e.out.Add)
	if err != nil {
		return err
	}
	e.n -= taken
	e.valid.drop(taken)
	if e.fixed > 0 {
		e.data = e.data[:copy(e.data, e.data[taken*e.fixed:])]
		return nil
	}
	base := e.offsets[taken]
	e.data = e.data[:copy(e.data, e.data[base:])]
	e.offsets = e.offsets[:copy(e.offsets, e.offsets[taken:])]
	for i := range e.offsets {
		e.offsets[i] -= base
	}
	return nil
}

func (e *bytesEncoder) Finish(yield func(*Encoded) error) error {
	if e.dict != nil {
		e.count()
		e.counted = true
	}
	out := e.encoded()
	if out.Descriptor.ConstantValue != nil {
		return yield(out)
	}
	if e.full != nil {
		if err := e.full.add(e.dict, e.node.Basic, e.encoder(true)); err != nil {
			return err
		}
		e.full.finish(out)
		return yield(out)
	}
	if e.dict != nil && e.dict.pays(true) {
		codes, err := e.orderEntries()
		if err != nil {
			return err
		}
		smaller, err := e.smallerAsTexts(codes)
		if err != nil {
			return err
		}
		if !smaller {
			return e.finishDictionary(out, yield)
		}
	}
	if e.dict != nil {
		if err := e.giveUp(); err != nil {
			return err
		}
	}
	if err := e.flush(true); err != nil {
		return err
	}
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_DATA, EmbeddedPresence: true, EmbeddedOffsets: true}, e.out.Finish())
	if e.opaque != nil {
		id := uint32(opaqueID)
		m := &metapb.EncodedBuffer{Kind: metapb.BufferKind_OPAQUE_DICTIONARY, BufferId: &id}
		out.Buffers = append(out.Buffers, Buffer{Meta: m, Bytes: meta.AppendFrame(nil, e.opaque.Content)})
	}
	if e.index != nil {
		if err := out.addIndex(e.index.finish(), e.o.Profile); err != nil {
			return err
		}
	}
	return yield(out)
}

// finishDictionary stores the field as codes of its one dictionary.
func (e *bytesEncoder) finishDictionary(out *Encoded, yield func(*Encoded) error) error {
	var index *colstream.RangeIndex
	if e.index != nil {
		index = e.dict.decimalIndex() // by the ids as they are, which finish changes
	}
	if err := e.dict.finish(out, e.codeEncoder(e.dict.byValue)); err != nil {
		return err
	}
	if e.index != nil {
		if err := out.addIndex(index, e.o.Profile); err != nil {
			return err
		}
	}
	return yield(out)
}

func (e *bytesEncoder) Size() int {
	n := e.out.Len() + cap(e.data) + 8*cap(e.offsets)
	if e.dict != nil {
		n += e.dict.size()
	}
	if e.full != nil {
		n += e.full.size()
	}
	return n
}
