package column

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// Values that come as codes get into the value dictionary by their codes: each entry is looked up once for an array, when it is first met, so
// that the dictionary's ids go by the order of the values, as ever. Where there is no dictionary, or not one only, the values are taken.

// codedShare is how many times as many entries as rows an array may have whose entries are looked up.
const codedShare = 4

// addCoded is Add of a coded column.
func (e *bytesEncoder) addCoded(a *array.Dictionary) error {
	entries := a.Dictionary()
	if e.dict == nil || e.limit > 0 || entries.Len() > codedShare*a.Len() || entries.NullN() > 0 {
		return e.addPlain(a)
	}
	e.codes = arrowtype.Codes(a, e.codes)
	values := viewsOf(entries)
	e.ids = slices.Grow(e.ids[:0], 3*entries.Len())[:3*entries.Len()]
	t := translation{d: e.dict, values: &values, a: a, ids: e.ids[:entries.Len()], counts: e.ids[entries.Len():]}
	for i := range t.ids {
		t.ids[i] = noEntry
	}
	clear(t.counts)
	for i := 0; i < a.Len(); {
		n := min(dictionaryTrial-i%dictionaryTrial, a.Len()-i) // up to where Add asks whether the dictionary pays
		t.add(e.codes[i:i+n], i)
		i += n
		if i%dictionaryTrial != 0 && i < a.Len() || e.pays(false) {
			continue
		}
		if err := e.giveUp(); err != nil || i == a.Len() {
			return err
		}
		rest := array.NewSlice(a, int64(i), int64(a.Len())).(*array.Dictionary)
		defer rest.Release()
		return e.addPlain(rest)
	}
	return nil
}

// addPlain adds the values of a coded column.
func (e *bytesEncoder) addPlain(a *array.Dictionary) error {
	plain := arrowtype.Plain(a)
	defer plain.Release()
	return e.Add(plain)
}

// translation turns the codes of an array into the ids of a value dictionary.
type translation struct {
	d      *dictionaryBuilder
	values *byteViews
	a      *array.Dictionary
	// ids are those of the entries, noEntry for those not yet met.
	ids []uint32
	// counts are how often each code came since they were given to the dictionary, once for the rows of even number, and then for the others:
	// of few different codes, each would wait for the one before.
	counts []uint32
}

// add takes codes of the array, from row at on.
func (t *translation) add(codes []uint32, at int) {
	d := t.d
	d.grow(len(codes))
	if t.a.NullN() > 0 {
		t.addNullable(codes, at)
		return
	}
	out, ids, even := d.codes, t.ids, t.counts[:len(t.ids)]
	odd := t.counts[len(t.ids):][:len(t.ids)]
	for i, c := range codes {
		id := ids[c]
		if id == noEntry {
			id = t.meet(c)
		}
		out = append(out, id)
		if i&1 == 0 {
			even[c]++
		} else {
			odd[c]++
		}
	}
	d.codes = out
	t.count()
}

// addNullable is add where some are null.
func (t *translation) addNullable(codes []uint32, at int) {
	d := t.d
	for i, c := range codes {
		if t.a.IsNull(at + i) {
			id := d.nullID()
			d.counts[id]++
			d.codes = append(d.codes, id)
			continue
		}
		id := t.ids[c]
		if id == noEntry {
			id = t.meet(c)
		}
		t.counts[c]++
		d.codes = append(d.codes, id)
	}
	t.count()
}

// meet gives the id of the entry of a code.
func (t *translation) meet(c uint32) uint32 {
	from, to := t.values.span(int(c))
	t.ids[c] = t.d.look(t.values.data[from:to])
	return t.ids[c]
}

// count gives the counts to the dictionary.
func (t *translation) count() {
	for c, id := range t.ids {
		n := t.counts[c] + t.counts[len(t.ids)+c]
		if n == 0 {
			continue
		}
		from, to := t.values.span(c)
		t.d.counts[id] += n
		t.d.length += uint64(n) * uint64(to-from)
	}
	clear(t.counts)
}
