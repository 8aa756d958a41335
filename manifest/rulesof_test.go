package manifest

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// TestPairingOfNestedFields: members of structs pair by name and those of lists and maps by place at every depth, and nothing pairs below a field that is
// of another kind than its column.
func TestPairingOfNestedFields(t *testing.T) {
	field := func(id int, name string, typ iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: typ}
	}
	str, num := iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.Int64
	pair := func(first int) *iceberg.StructType {
		return &iceberg.StructType{FieldList: []iceberg.NestedField{field(first, "a", str), field(first+1, "b", num)}}
	}
	ts := NewTableSchema(iceberg.NewSchema(0,
		field(1, "s", pair(2)),
		field(4, "l", &iceberg.ListType{ElementID: 5, Element: pair(6)}),
		field(8, "ll", &iceberg.ListType{ElementID: 9, Element: &iceberg.ListType{ElementID: 10, Element: num}}),
		field(11, "m", &iceberg.MapType{KeyID: 12, KeyType: str, ValueID: 13, ValueType: pair(14)}),
		field(16, "u", pair(17)),
	), TypeNotes{16: {Basic: schema.Union.String()}})
	if n := ts.Node(16); n.Basic != schema.Union {
		t.Fatalf("u is a %v", n.Basic)
	}
	for fields, want := range map[string][]int{
		"s: Struct<b: Int64, a: String>":            {1, 3, 2},
		"l: List<Struct<b: Int64, c: Int64>>":       {4, 5, 7, 0},
		"ll: List<List<Int64>>":                     {8, 9, 10},
		"ll: List<Struct<a: Int64>>":                {8, 9, 0},
		"l: List<List<Int64>>":                      {4, 5, 0},
		"m: Map<String, Struct<b: Int64>>":          {11, 12, 13, 15},
		"m: Map<String, List<Int64>>":               {11, 12, 13, 0},
		"s: List<Struct<a: String>>":                {1, 0, 0},
		"l: Struct<a: String>":                      {4, 0},
		"m: List<Int64>":                            {11, 0},
		"x: Int64, s: Struct<a: String>, y: String": {0, 1, 2, 0},
	} {
		if got := ts.ByName(parsed(t, fields)); !slices.Equal(got, want) {
			t.Errorf("%s: ids %v, want %v", fields, got, want)
		}
	}
	// Variants pair by name, and by place where they have none.
	for _, c := range []struct {
		variants []string
		want     []int
	}{
		{[]string{"a", "b"}, []int{16, 17, 18}}, {[]string{"b", "a"}, []int{16, 18, 17}}, {[]string{"", ""}, []int{16, 17, 18}}, {[]string{"b", ""}, []int{16, 18, 18}},
		{[]string{"c", "b"}, []int{16, 0, 18}}, {[]string{"", "", ""}, []int{16, 17, 18, 0}}, {[]string{"", "c", "b", ""}, []int{16, 17, 0, 18, 0}},
	} {
		u := &schema.Node{Name: "u", Basic: schema.Union}
		for _, name := range c.variants {
			u.Children = append(u.Children, &schema.Node{Name: name, Basic: schema.String})
		}
		s := &schema.Schema{Fields: []*schema.Node{u}}
		s.Number()
		if got := ts.ByName(s); !slices.Equal(got, c.want) {
			t.Errorf("variants %q: ids %v, want %v", c.variants, got, c.want)
		}
	}
}

// TestCountsBelowNulls: what the statistics of members can be compared with: nothing where a parent may be null.
func TestCountsBelowNulls(t *testing.T) {
	all := scope{expected: 9, whole: true, bounded: true}
	strct := &schema.Node{Basic: schema.Struct}
	described := &shardfmt.FieldSummary{Described: true}
	for name, c := range map[string]struct {
		n    *schema.Node
		f    *shardfmt.FieldSummary
		c    Column
		sc   scope
		want scope
	}{
		"struct without nulls":           {strct, described, Column{Nulls: 0}, all, all},
		"struct with nulls":              {strct, described, Column{Nulls: 1}, all, scope{expected: 9, bounded: true}},
		"struct of unknown nulls":        {strct, described, Column{Nulls: Unknown}, all, scope{expected: 9, bounded: true}},
		"struct that is not described":   {strct, &shardfmt.FieldSummary{}, Column{Nulls: 0}, all, scope{expected: 9, bounded: true}},
		"struct below one that has some": {strct, described, Column{Nulls: 0}, scope{expected: 9, bounded: true}, scope{expected: 9, bounded: true}},
		"union":                          {&schema.Node{Basic: schema.Union}, described, Column{Nulls: 0}, all, scope{bounded: true}},
		"list":                           {&schema.Node{Basic: schema.List}, described, Column{Nulls: 0}, all, scope{}},
	} {
		if got := childScope(c.n, c.f, c.c, c.sc); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestLatestTimes: the greatest time is kept beside its bound only where that was rounded up.
func TestLatestTimes(t *testing.T) {
	at, number := &schema.Node{Basic: schema.DateTime}, &schema.Node{Basic: schema.Int64, Signed: true}
	for name, c := range map[string]struct {
		n    *schema.Node
		id   int
		max  any
		want map[int][]byte
	}{
		"between two microseconds": {at, 7, uint64(epochTicks + 15), map[int][]byte{7: appendLong(1)}},
		"a microsecond":            {at, 7, uint64(epochTicks + 10), nil},
		"no column":                {at, 0, uint64(epochTicks + 15), nil},
		"no value":                 {at, 7, nil, nil},
		"no time":                  {number, 7, uint64(15), nil},
		"beyond all times":         {at, 7, uint64(1 << 63), nil},
	} {
		d := describer{ids: []int{c.id}, entry: &Entry{}}
		d.latest(c.n, &shardfmt.FieldSummary{Max: c.max})
		if !reflect.DeepEqual(d.entry.latest, c.want) {
			t.Errorf("%s: %v, want %v", name, d.entry.latest, c.want)
		}
	}
	d := describer{ids: []int{7, 8}, entry: &Entry{}}
	for i := range 2 { // a second column does not take the place of the first
		d.latest(&schema.Node{ID: uint32(i), Basic: schema.DateTime}, &shardfmt.FieldSummary{Max: uint64(epochTicks + 15)})
	}
	if len(d.entry.latest) != 2 {
		t.Errorf("%v", d.entry.latest)
	}
}

// TestNamesOfRows: the name of a shard's rows counts for the root that it was written for only.
func TestNamesOfRows(t *testing.T) {
	id := RowsID{1, 2, 3}
	e := &Entry{Path: "file:///v/a.amudai.shard", Format: Format, Rows: encodeRows("file:///v/a.amudai.shard", id)}
	change := func(do func(e *Entry)) *Entry { x := *e; do(&x); return &x }
	for name, c := range map[string]struct {
		e  *Entry
		ok bool
	}{
		"its own":                 {e, true},
		"in a vault that moved":   {change(func(e *Entry) { e.Path = "file:///w/a.amudai.shard" }), true},
		"of another root":         {change(func(e *Entry) { e.Path = "file:///v/b.amudai.shard" }), false},
		"of a file of Parquet":    {change(func(e *Entry) { e.Format = "PARQUET" }), false},
		"cut":                     {change(func(e *Entry) { e.Rows = e.Rows[:23] }), false},
		"longer":                  {change(func(e *Entry) { e.Rows += "x" }), false},
		"without one":             {change(func(e *Entry) { e.Rows = "" }), false},
		"with another checksum":   {change(func(e *Entry) { e.Rows = e.Rows[:23] + "\x00" }), false},
		"of another id, the same": {change(func(e *Entry) { e.Rows = "x" + e.Rows[1:] }), true},
	} {
		got, ok := c.e.RowsID()
		if ok != c.ok || c.e == e && got != id {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	for flags, has := range map[Flags]bool{0: false, Foreign: true, Foreign | Adopted: true, Adopted: false} {
		if flags.Has(Foreign) != has || flags.Has(0) != true || flags.Has(Foreign|Adopted) != (flags == Foreign|Adopted) {
			t.Errorf("flags %b", flags)
		}
	}
}

// TestJobsOfASnapshot: a job is found alone, first, in the middle and last, and never by a part of its id.
func TestJobsOfASnapshot(t *testing.T) {
	b := newBench(t, nil)
	s := b.commit(Change{Operation: table.OpAppend, JobID: "one", MoreJobIDs: []string{"two", "three", "four"}, Add: []*Entry{fake(1)}})
	alone := b.commit(Change{Operation: table.OpAppend, JobID: "five", Add: []*Entry{fake(2)}})
	none := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(3)}})
	for id, want := range map[string]bool{"one": true, "two": true, "three": true, "four": true, "five": false, "thr": false, "two,three": false, "ree": false} {
		if got := hasJob(s, id); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
	if !hasJob(alone, "five") || hasJob(alone, "one") || hasJob(none, "one") {
		t.Errorf("%v, %v", alone.Summary, none.Summary)
	}
	if got := slices.Collect(JobsOf(s.Summary.Properties)); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("%v", got)
	}
	for name, p := range map[string]map[string]string{"one job": alone.Summary.Properties, "none": none.Summary.Properties} {
		if _, has := p[moreJobIDsKey]; has {
			t.Errorf("%s: %s is set", name, moreJobIDsKey)
		}
	}
}

// TestListsOfVersions: a snapshot that names no list is corrupt from version 2 on, and in version 1 where it names no manifests either. Counts of
// version 1 may be missing, while those of later ones are never negative, whatever entry comes before.
func TestListsOfVersions(t *testing.T) {
	for name, c := range map[string]struct {
		version   int
		locations []string
		ok        bool
	}{
		"version 1 with manifests":       {1, []string{}, true},
		"version 1 without":              {1, nil, false},
		"version 2 with manifests":       {2, []string{}, false},
		"version 2 without":              {2, nil, false},
		"version 3 with no more of them": {3, []string{}, false},
	} {
		got, err := Manifests(files{}, c.version, &table.Snapshot{SnapshotID: 7, ManifestLocations: c.locations})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, corrupt.ErrCorrupt) || len(got) != 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	old := iceberg.NewManifestFile(1, "file:///a.avro", -1, 0, 7).Content(iceberg.ManifestContentData).Build()
	bad := iceberg.NewManifestFile(2, "file:///b.avro", -1, 0, 7).Content(iceberg.ManifestContentData).Build()
	good := iceberg.NewManifestFile(2, "file:///c.avro", 0, 0, 7).Content(iceberg.ManifestContentData).SequenceNum(0, 0).
		AddedFiles(0).ExistingFiles(0).DeletedFiles(0).AddedRows(0).ExistingRows(0).DeletedRows(0).Build()
	for name, c := range map[string]struct {
		list []iceberg.ManifestFile
		ok   bool
	}{
		"of version 1":         {[]iceberg.ManifestFile{old}, true},
		"after one of them":    {[]iceberg.ManifestFile{old, bad}, false},
		"with zeros":           {[]iceberg.ManifestFile{old, good}, true},
		"the same path":        {[]iceberg.ManifestFile{good, good}, false},
		"the same, version 1":  {[]iceberg.ManifestFile{old, old}, false},
		"the same, far apart":  {[]iceberg.ManifestFile{good, old, good}, false},
		"nothing":              {nil, true},
		"a negative one, last": {[]iceberg.ManifestFile{good, bad}, false},
	} {
		if err := checkList(c.list); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTermsOfLongEntries: an entry that would carry too much of its term filters is written without them, and with the most that it may carry.
func TestTermsOfLongEntries(t *testing.T) {
	for _, n := range []int{0, 1, maxTerms, maxTerms + 1} {
		e := fake(1)
		e.Terms = strings.Repeat("t", n)
		f, err := e.build(*iceberg.UnpartitionedSpec)
		if err != nil {
			t.Fatal(err)
		}
		got, has := f.LowerBoundValues()[fieldTerms]
		if has != (n > 0 && n <= maxTerms) || has && string(got) != e.Terms {
			t.Errorf("%d bytes: %v, %d bytes", n, has, len(got))
		}
	}
	// The objects of filters, as far as they are allowed.
	terms := someTerms()
	terms[0].Object = "file:///elsewhere/x.amudai.filter"
	e := fake(1)
	e.Path, e.Terms = termsRoot, encodeTerms(termsRoot, terms)
	f, err := e.build(*iceberg.UnpartitionedSpec)
	if err != nil {
		t.Fatal(err)
	}
	if got := TermObjects(f, urlresolve.Policy{}); !slices.Equal(got, []string{"file:///vault/t/data/y.amudai.filter"}) {
		t.Errorf("%v", got)
	}
}

// TestNamesThatColumnsHad: a name keeps its first meaning, that of a struct's member is apart from a column's, and what is not a column is noted as none.
func TestNamesThatColumnsHad(t *testing.T) {
	field := func(id int, name string, typ iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: typ}
	}
	num := iceberg.PrimitiveTypes.Int64
	of := func(a, x string) *iceberg.Schema {
		return iceberg.NewSchema(0, field(1, a, num), field(2, "s", &iceberg.StructType{FieldList: []iceberg.NestedField{field(3, x, num)}}))
	}
	names := AdoptedNames{}
	for _, c := range []struct {
		was, next *iceberg.Schema
		changed   bool
		want      AdoptedNames
	}{
		{of("a", "x"), of("a", "x"), false, AdoptedNames{}},
		{of("a", "x"), of("b", "x"), true, AdoptedNames{0: {"a": 1}}},
		{of("b", "x"), of("b", "a"), true, AdoptedNames{0: {"a": 1}, 2: {"x": 3}}},
		{of("b", "a"), of("c", "y"), true, AdoptedNames{0: {"a": 1, "b": 1}, 2: {"x": 3, "a": 3}}},
	} {
		if got := names.NoteChanged(c.was, c.next); got != c.changed || !reflect.DeepEqual(names, c.want) {
			t.Errorf("%v: %v, want %v", got, names, c.want)
		}
	}
	s := parsed(t, "c: Int64, extra: Int64, a: Int64, s: Struct<y: Int64, more: Int64>")
	ids := map[string]int{"c": 1, "s": 2, "y": 3}
	list := make([]int, s.Count)
	s.Walk(func(_ string, n *schema.Node) bool { list[n.ID] = ids[n.Name]; return true })
	names.NoteLacking(s, list)
	want := AdoptedNames{0: {"a": 1, "b": 1, "extra": 0}, 2: {"x": 3, "a": 3, "more": 0}}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	var again, none AdoptedNames
	if err := again.Decode(names.Encode()); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("%v, %v", again, err)
	}
	if err := none.Decode(""); none != nil || err != nil || AdoptedNames(nil).Encode() != "" {
		t.Errorf("of nothing: %v, %v", none, err)
	}
	if err := none.Decode("{"); err == nil {
		t.Error("a cut text was taken")
	}
}

// TestNotesThatFit: a note counts only for a type that Iceberg's could be stored as; the doc of a time span stays the user's own.
func TestNotesThatFit(t *testing.T) {
	num := iceberg.PrimitiveTypes.Int64
	list := &iceberg.ListType{ElementID: 2, Element: num}
	strct := &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 2, Name: "a", Type: num}}}
	dict := &iceberg.MapType{KeyID: 2, KeyType: iceberg.PrimitiveTypes.String, ValueID: 3, ValueType: num}
	nested := []schema.Basic{schema.List, schema.FixedSizeList, schema.Struct, schema.Union, schema.Map}
	for _, c := range []struct {
		t    iceberg.Type
		fits []schema.Basic
	}{{list, nested[:2]}, {strct, nested[2:4]}, {dict, nested[4:]}, {num, []schema.Basic{schema.Int64}}} {
		for _, b := range append(slices.Clone(nested), schema.Int64, schema.String) {
			n := &schema.Node{Basic: b, Signed: b == schema.Int64}
			if got := fits(n, c.t); got != slices.Contains(c.fits, b) {
				t.Errorf("%s as %s: %v", b, c.t, got)
			}
		}
	}
	span := parsed(t, "own: TimeSpan, bare: TimeSpan, plain: Int64")
	span.Fields[0].Doc = "the user's"
	made, notes, err := ToIceberg(span, 0)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, f := range made.Fields() {
		docs[f.Name] = f.Doc
	}
	if want := map[string]string{"own": "the user's", "bare": timeSpanDoc, "plain": ""}; !maps.Equal(docs, want) {
		t.Errorf("%v, want %v", docs, want)
	}
	back, _, _ := FromIceberg(made, notes)
	for i, n := range back.Fields {
		if n.Doc != span.Fields[i].Doc || n.IsTimeSpan() != span.Fields[i].IsTimeSpan() {
			t.Errorf("%s: doc %q", n.Name, n.Doc)
		}
	}
}

func hasJob(s *table.Snapshot, id string) bool {
	return slices.Contains(slices.Collect(JobsOf(s.Summary.Properties)), id)
}
