package lance

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// handmade is one page of a file that no writer makes.
type handmade struct {
	n        uint64
	encoding []byte
	buffers  [][]byte
}

// file makes a file of one field, with a page in each of its columns, or several.
func (h handmade) file(t testing.TB, fields []Field, rows uint64, columns ...[]handmade) []byte {
	t.Helper()
	var b bytes.Buffer
	out := output{w: &b}
	for i, pages := range append([][]handmade{{h}}, columns...) {
		out.columns = append(out.columns, &columnOutput{})
		for _, p := range pages {
			if err := out.page(i, p.n, p.encoding, &pageEncoder{buffers: p.buffers}); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := descriptor{fields: fields, rows: rows}
	if err := out.finish(d.append(nil)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bufferAt is a reference to a buffer of the page.
func bufferAt(i uint64) []byte { return appendNumber(nil, 1, i) }

func flatOf(bits uint64, buffer uint64) []byte {
	return arrayEncoding(flatKind, appendMessage(appendNumber(nil, 1, bits), 2, bufferAt(buffer)))
}

func words(values ...uint64) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

func listOf(adjustment, items uint64) []byte {
	return arrayEncoding(listKind, appendNumber(appendNumber(appendMessage(nil, 1, flatOf(64, 0)), 2, adjustment), 3, items))
}

func deep(n int) []byte {
	e := flatOf(64, 0)
	for range n {
		e = noNulls(e)
	}
	return e
}

// What an encoding states has to agree with itself, with the type of its field and with the buffers that there are.
func TestContradictionsAreRefused(t *testing.T) {
	number := []Field{{Name: "c", ID: 0, Parent: NoParent, LogicalType: "int64"}}
	text := []Field{{Name: "c", ID: 0, Parent: NoParent, LogicalType: "string"}}
	pair := []Field{{Name: "c", ID: 0, Parent: NoParent, LogicalType: "fixed_size_list:int64:2"}}
	lists := []Field{{Name: "c", ID: 0, Parent: NoParent, LogicalType: "list"}, {Name: "item", ID: 1, Parent: 0, LogicalType: "int64"}}
	of := func(encoding []byte, buffers ...[]byte) handmade { return handmade{1, encoding, buffers} }
	binaryOf := func(adjustment uint64) []byte {
		return arrayEncoding(binaryKind, appendNumber(appendMessage(appendMessage(nil, 1, flatOf(64, 0)), 2, flatOf(8, 1)), 3, adjustment))
	}
	items := []handmade{{3, flatOf(64, 0), [][]byte{words(1, 2, 3)}}}
	compressed := func(scheme string) []byte {
		return arrayEncoding(flatKind, appendMessage(appendMessage(appendNumber(nil, 1, 64), 2, bufferAt(0)), 3, appendMessage(nil, 1, []byte(scheme))))
	}
	dictionary := arrayEncoding(dictionaryKind, appendNumber(appendMessage(appendMessage(nil, 1, flatOf(8, 2)), 2, binaryOf(2)), 3, 1))
	for _, c := range []struct {
		what string
		data []byte
	}{
		{"bits a value", of(flatOf(0, 0), words(1)).file(t, number, 1)},
		{"without a buffer", of(arrayEncoding(flatKind, appendNumber(nil, 1, 64)), words(1)).file(t, number, 1)},
		{"buffer 3 of a page that has 1", of(flatOf(64, 3), words(1)).file(t, number, 1)},
		{"1 values of 64 bits in a buffer of 7 bytes", of(flatOf(64, 0), make([]byte, 7)).file(t, number, 1)},
		{"32 bits for a value", of(flatOf(32, 0), words(1)).file(t, number, 1)},
		{"nested more than", of(deep(2000), words(1)).file(t, number, 1)},
		{"Bitpacked, which no writer of version 2.0 uses", of(arrayEncoding(bitpackedKind, nil)).file(t, number, 1)},
		{"FixedSizeBinary, which no writer", of(arrayEncoding(fixedBinaryKind, nil)).file(t, number, 1)},
		{"BitpackedForNonNeg, which no writer", of(arrayEncoding(bitpackedPlusKind, nil)).file(t, number, 1)},
		{"ArrayEncoding 19, which version 2.0 does not have", of(arrayEncoding(19, nil)).file(t, number, 1)},
		{`compression "brotli"`, of(compressed("brotli"), words(1)).file(t, number, 1)},
		{"zstd", of(compressed(schemeZstd), words(1)).file(t, number, 1)},
		{"lists of 0 items", of(arrayEncoding(fixedListKind, appendMessage(nil, 2, flatOf(64, 0))), words(1)).file(t, pair, 1)},
		{"lists of 3 items", of(arrayEncoding(fixedListKind, appendMessage(appendNumber(nil, 1, 3), 2, flatOf(64, 0))), words(1, 2, 3)).file(t, pair, 1)},
		{"null adjustment of 3, which has to be more", of(listOf(3, 3), words(3)).file(t, lists, 1, items)},
		{"lists of 4 items, but their column has 3", of(listOf(5, 4), words(4)).file(t, lists, 1, items)},
		{"beyond the 3", of(listOf(6, 3), words(5)).file(t, lists, 1, items)},
		{"beyond the 2", of(binaryOf(9), words(3), []byte("ab")).file(t, text, 1)},
		{"null adjustment of 0", of(binaryOf(0), words(2), []byte("ab")).file(t, text, 1)},
		{"not UTF-8", of(binaryOf(9), words(2), []byte{0xC3, 0x28}).file(t, text, 1)},
		{"is item 2 of a dictionary of 1", of(dictionary, words(1), []byte("x"), []byte{2}).file(t, text, 1)},
		{"has 2 values for 1 rows", handmade{2, flatOf(64, 0), [][]byte{words(1, 2)}}.file(t, number, 1)},
		{"2 columns, but the schema has 1", of(flatOf(64, 0), words(1)).file(t, number, 1, items)},
		{"encoding SimpleStruct of values of type struct", of(arrayEncoding(structKind, nil)).file(t, []Field{
			{Name: "c", ID: 0, Parent: NoParent, LogicalType: "struct", Metadata: map[string]string{packedKey: "true"}},
			{Name: "x", ID: 1, Parent: 0, LogicalType: "int64"}}, 1)},
		{"encoding List of values of type int64", of(listOf(4, 3), words(3)).file(t, number, 1)},
	} {
		if err := readAll(c.data); !isTyped(err) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	// The same pages without the fault are read.
	for _, data := range [][]byte{
		of(listOf(4, 3), words(3)).file(t, lists, 1, items), of(binaryOf(9), words(2), []byte("ab")).file(t, text, 1),
		of(dictionary, words(1), []byte("x"), []byte{1}).file(t, text, 1), of(deep(20), words(1)).file(t, number, 1),
	} {
		if err := readAll(data); err != nil {
			t.Error(err)
		}
	}
}

// A struct has one page, and the level of a compression is of no concern to who reads.
func TestStructsHaveOnePage(t *testing.T) {
	fields := []Field{{Name: "s", ID: 0, Parent: NoParent, LogicalType: "struct"}, {Name: "x", ID: 1, Parent: 0, LogicalType: "int64"}}
	x := []handmade{{2, flatOf(64, 0), [][]byte{words(1, 2)}}}
	page := handmade{1, arrayEncoding(structKind, nil), nil}
	var b bytes.Buffer
	out := output{w: &b, columns: []*columnOutput{{}, {}}}
	for i, p := range []handmade{page, page, x[0]} {
		if err := out.page(i/2, p.n, p.encoding, &pageEncoder{buffers: p.buffers}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.finish(descriptor{fields: fields, rows: 2}.append(nil)); err != nil {
		t.Fatal(err)
	}
	if err := readAll(b.Bytes()); !isTyped(err) || !strings.Contains(err.Error(), "a struct has one page, this one has 2") {
		t.Error(err)
	}
	if err := readAll(handmade{2, page.encoding, nil}.file(t, fields, 2, x)); err != nil {
		t.Error(err)
	}
}

// The example of the text, [[A, B], null, [], [C, D, E]], is stored with the least adjustment that reports nulls, and each
// range of its lists points to the items that the text states.
func TestListExample(t *testing.T) {
	field := arrow.Field{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}
	s, batch := one(t, field, `[["A", "B"], null, [], ["C", "D", "E"]]`)
	data := written(t, s, []arrow.RecordBatch{batch}, WriteOptions{})
	f, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	at := f.columns[0].pages[0].buffers[0]
	if got, want := data[at.at:][:at.size], words(2, 8, 2, 5); !bytes.Equal(got, want) {
		t.Errorf("offsets % x, want % x", got, want)
	}
	text, _ := readVector(t, "testdata/text/list-example.lance")
	for _, data := range [][]byte{data, text} {
		f, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		all, err := rowsOf(f, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(len(all))
		for low := range n {
			for high := low + 1; high <= n; high++ {
				got, err := rowsOf(f, ReadOptions{Rows: []Rows{{low, high}}})
				if err != nil || !reflect.DeepEqual(got, all[low:high]) {
					t.Errorf("rows %d to %d: %v, want %v, %v", low, high, got, all[low:high], err)
				}
			}
		}
	}
}

// Lists of null claim to have any number of items, without stored data: they are refused instead of made.
func TestManyNullsOfNothing(t *testing.T) {
	fields := []Field{{Name: "c", ID: 0, Parent: NoParent, LogicalType: "list"}, {Name: "item", ID: 1, Parent: 0, LogicalType: "int64", Nullable: true}}
	n := uint64(1) << 40
	data := handmade{1, listOf(n+1, n), [][]byte{words(n)}}.file(t, fields, 1, []handmade{{n, allNulls(), nil}})
	f, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.NewSource(context.Background(), ReadOptions{})
	if err == nil {
		_, err = s.Next(context.Background())
	}
	if !isTyped(err) || !strings.Contains(fmt.Sprint(err), "without stored data") {
		t.Errorf("%v", err)
	}
	if corrupt.Locate(err, "other", 0).Error() != err.Error() {
		t.Errorf("%v does not name its object", err)
	}
}
