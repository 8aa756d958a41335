package formattest

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const folder = "../../../../docs/format/vectors"

// What is committed is what the encoders make, and nothing else lies beside it.
func TestCommitted(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Join(folder, f.Name+".json"))
		want, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(names[len(names)-1]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what go generate ./shardfmt/internal/testkit/formattest makes: %v", f.Name, err)
		}
	}
	committed, err := filepath.Glob(filepath.Join(folder, "*.json"))
	slices.Sort(names)
	if err != nil || !slices.Equal(committed, names) {
		t.Errorf("%v (%v), want %v", committed, err, names)
	}
}

var pageLine = regexp.MustCompile(`^([0-9a-f]{6})  (?:00 × (\d+)|([0-9a-f]+))(?: |$)`)

// The page of the annotated shard is what is made, its lines are the whole object, and the object holds the page's records.
func TestAnnotatedShard(t *testing.T) {
	want, err := ShardPage()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(folder, "shard.md"))
	if err != nil || !bytes.Equal(page, want) {
		t.Errorf("shard.md is not what go generate ./shardfmt/internal/testkit/formattest makes: %v", err)
	}
	var object []byte
	for _, line := range strings.Split(string(page), "\n") {
		m := pageLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if at, _ := strconv.ParseInt(m[1], 16, 64); int(at) != len(object) {
			t.Fatalf("a line at %s follows %d bytes", m[1], len(object))
		}
		if n, _ := strconv.Atoi(m[2]); n > 0 {
			object = append(object, make([]byte, n)...)
			continue
		}
		b, err := hex.DecodeString(m[3])
		if err != nil {
			t.Fatal(err)
		}
		object = append(object, b...)
	}
	ctx := context.Background()
	shard, err := shardfmt.OpenReaderAt(ctx, bytes.NewReader(object), int64(len(object)), shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var rows bytes.Buffer
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := array.RecordToJSON(b, &rows); err != nil {
			t.Fatal(err)
		}
	}
	if rows.String() != shardRows || !strings.Contains(string(page), shardRows) {
		t.Errorf("the page's bytes hold\n%s", &rows)
	}
}

// Bytes without a note, and bytes with two, are errors.
func TestEveryByteHasOneNote(t *testing.T) {
	b, err := Shard()
	if err != nil {
		t.Fatal(err)
	}
	a := &annotator{b: b}
	a.add(0, len(b)-3, "all but the last")
	if _, err := a.finish(); err == nil {
		t.Error("a byte without a note passes")
	}
	a.add(4, 8, "inside another")
	if _, err := a.finish(); err == nil || !strings.Contains(err.Error(), "two notes") {
		t.Errorf("two notes on a byte: %v", err)
	}
}

// read gives the committed vectors of a file.
func read(t *testing.T, path string) []Vector {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f File
	if err := json.Unmarshal(b, &f); err != nil || len(f.Vectors) == 0 {
		t.Fatalf("%s: %d vectors, %v", path, len(f.Vectors), err)
	}
	return f.Vectors
}

// Every committed block decodes to its values, and every encoding has its vectors.
func TestBlocksDecode(t *testing.T) {
	outer, seen := map[string]int{}, map[string]int{}
	for _, name := range []string{"integers", "floats", "bytes", "presence"} {
		for _, v := range read(t, filepath.Join(folder, name+".json")) {
			sub, elem, size := decoded(t, name, &v)
			tree, err := block.Describe(sub, elem, v.Count, size)
			if err != nil || tree.String() != v.Tree {
				t.Errorf("%s, %s: %v, %v; want %s", name, v.Name, tree, err, v.Tree)
				continue
			}
			kind := "numbers"
			if elem == block.Binary || elem == block.FixedBinary {
				kind = "bytes"
			}
			outer[kind+" "+tree.Encoding]++
			tree.Walk(func(b *block.Tree) { seen[b.Encoding]++ })
		}
	}
	for c := block.Plain; c <= block.Sparse; c++ {
		if seen[c.String()] < 3 {
			t.Errorf("%v occurs %d times", c, seen[c.String()])
		}
		if n := outer["numbers "+c.String()]; n < 3 && c != block.Fsst {
			t.Errorf("%v of numbers has %d vectors", c, n)
		}
	}
	for _, c := range []block.Code{block.Plain, block.SingleValue, block.BlockDictionary, block.Fsst, block.Zstd, block.Lz4} {
		if n := outer["bytes "+c.String()]; n < 3 {
			t.Errorf("%v of byte strings has %d vectors", c, n)
		}
	}
}

var fixedSize = regexp.MustCompile(`^FixedSizeBinary\((\d+)\)$`)

// decoded decodes the block of a vector, compares its values, and gives its sub-block.
func decoded(t *testing.T, file string, v *Vector) (sub []byte, elem block.Elem, size int) {
	t.Helper()
	b, err := v.Data()
	if err != nil {
		t.Fatal(err)
	}
	frame, err := block.ParseFrame(b, true)
	if err != nil {
		t.Fatalf("%s, %s: %v", file, v.Name, err)
	}
	present := make([]byte, (v.Count+7)/8)
	if _, err := block.DecodePresence(present, frame.Presence, v.Count); err != nil {
		t.Fatalf("%s, %s: %v", file, v.Name, err)
	}
	if m := fixedSize.FindStringSubmatch(v.Type); m != nil {
		size, _ = strconv.Atoi(m[1])
	}
	got, elem, err := valuesOf(frame.Values, v, size, present)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(pointed(v.Values)) {
		t.Errorf("%s, %s: %v, %v; want %v", file, v.Name, got, err, pointed(v.Values))
	}
	return frame.Values, elem, size
}

// pointed are texts, "null" for nil.
func pointed(values []*string) []string {
	out := []string{}
	for _, v := range values {
		if v == nil {
			out = append(out, "null")
		} else {
			out = append(out, strconv.Quote(*v))
		}
	}
	return out
}

// valuesOf decodes a sub-block to texts.
func valuesOf(sub []byte, v *Vector, size int, present []byte) ([]string, block.Elem, error) {
	switch v.Type {
	case "Int8":
		return numbersOf[int8](sub, v.Count, present)
	case "Int16":
		return numbersOf[int16](sub, v.Count, present)
	case "Int32":
		return numbersOf[int32](sub, v.Count, present)
	case "Int64":
		return numbersOf[int64](sub, v.Count, present)
	case "UInt8":
		return numbersOf[uint8](sub, v.Count, present)
	case "UInt16":
		return numbersOf[uint16](sub, v.Count, present)
	case "UInt32":
		return numbersOf[uint32](sub, v.Count, present)
	case "UInt64":
		return numbersOf[uint64](sub, v.Count, present)
	case "Float32":
		return numbersOf[float32](sub, v.Count, present)
	case "Float64":
		return numbersOf[float64](sub, v.Count, present)
	}
	return bytesOf(sub, v.Count, size, present)
}

func numbersOf[T simd.Number](sub []byte, n int, present []byte) ([]string, block.Elem, error) {
	vals := make([]T, n)
	err := block.DecodeNumbers(vals, sub, new(block.Scratch))
	return pointed(numberTexts(vals, present)), block.ElemOf[T](), err
}

func bytesOf(sub []byte, n, size int, present []byte) ([]string, block.Elem, error) {
	var dst block.Bytes
	err := block.DecodeBytes(&dst, sub, n, size, present, new(block.Scratch))
	elem := block.Binary
	var vals [][]byte
	for i := range n {
		if size > 0 && err == nil {
			elem = block.FixedBinary
			vals = append(vals, dst.Data[i*size:(i+1)*size])
		} else if err == nil {
			vals = append(vals, dst.Data[dst.Offsets[i]:dst.Offsets[i+1]])
		}
	}
	return pointed(byteTexts(vals, present)), elem, err
}

// Every committed piece of a buffer reads as it states.
func TestPiecesDecode(t *testing.T) {
	kinds := map[any]int{}
	for _, v := range read(t, filepath.Join(folder, "buffers.json")) {
		kinds[v.Holds["kind"]]++
		b, err := v.Data()
		if err != nil {
			t.Fatal(err)
		}
		switch v.Holds["kind"] {
		case kindMap:
			checkMap(t, &v, b)
		case kindStream:
			checkStream(t, &v, b)
		case kindDictionary:
			checkDictionary(t, &v, b)
		case kindRangeIndex:
			checkRangeIndex(t, &v, b)
		case kindSuperBlock:
			checkSuperBlock(t, &v, b)
		case kindNamed:
			checkNamed(t, &v, b)
		}
	}
	if len(kinds) != 6 || slices.Min(slices.Collect(maps.Values(kinds))) < 3 {
		t.Errorf("pieces %v", kinds)
	}
}

// Every committed shard verifies and reads as it states; there are three at least of each kind.
func TestShardsRead(t *testing.T) {
	kinds := map[string]int{}
	for _, v := range read(t, filepath.Join(folder, "shards.json")) {
		for _, kind := range []string{"union", "deleted", "nothing is left", "marks nothing", "terms of a text index", "positions of a text index", "hash index"} {
			if strings.Contains(v.Name, kind) {
				kinds[kind]++
			}
		}
		b, err := v.Data()
		if err != nil {
			t.Fatal(err)
		}
		lines, err := rowsOf(t.Context(), b)
		if err != nil || len(lines) != v.Count {
			t.Errorf("%s: %d records, %v", v.Name, len(lines), err)
		}
		same(t, &v, "rows", lines)
	}
	if kinds["union"] < 3 || kinds["deleted"]+kinds["nothing is left"]+kinds["marks nothing"] < 3 || kinds["terms of a text index"] < 3 ||
		kinds["positions of a text index"] < 3 || kinds["hash index"] < 3 {
		t.Errorf("%v", kinds)
	}
}

// same compares what was read with what JSON states.
func same(t *testing.T, v *Vector, name string, got any) {
	t.Helper()
	b, _ := json.Marshal(got)
	var text any
	if err := json.Unmarshal(b, &text); err != nil || !reflect.DeepEqual(text, v.Holds[name]) {
		t.Errorf("%s, %s: %v, want %v", v.Name, name, text, v.Holds[name])
	}
}

func checkMap(t *testing.T, v *Vector, b []byte) {
	m, err := colstream.ParseMap(b)
	if err != nil || !m.Canonical(b) || m.Values() != uint64(v.Count) {
		t.Fatalf("%s: %v", v.Name, err)
	}
	values, sizes := []uint64{}, []uint64{}
	for i := range m.Blocks() {
		first, last := m.Span(i)
		start, end := m.Range(i)
		values, sizes = append(values, last-first), append(sizes, end-start)
	}
	same(t, v, "values", values)
	same(t, v, "bytes", sizes)
}

func checkSuperBlock(t *testing.T, v *Vector, b []byte) {
	parts, err := colstream.SplitSuper(b, true)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	members := [][2]uint64{}
	for _, p := range parts {
		members = append(members, [2]uint64{p.Start, p.End})
		if _, err := block.ParseFrame(b[p.Start:p.End], true); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
	same(t, v, "members", members)
}

func checkNamed(t *testing.T, v *Vector, b []byte) {
	f, err := block.ParseFrame(b, true)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	id, codes, err := f.Named()
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	same(t, v, "dictionary", id)
	got, _, err := valuesOf(codes.Values, v, 0, nil)
	if err != nil || !slices.Equal(got, pointed(v.Values)) {
		t.Errorf("%s: %v, %v", v.Name, got, err)
	}
	if tree, err := block.Describe(f.Values, block.Uint32, v.Count, 0); err != nil || tree.String() != v.Tree {
		t.Errorf("%s: %v, %v; want %s", v.Name, tree, err, v.Tree)
	}
}

func checkStream(t *testing.T, v *Vector, b []byte) {
	start := int(v.Holds["block_map"].(float64))
	m, err := colstream.ParseMap(b[start:])
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	same(t, v, "blocks", m.Blocks())
	var got []string
	for i := range m.Blocks() {
		from, to := m.Range(i)
		first, last := m.Span(i)
		frame, err := block.ParseFrame(b[from:to], true)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		part, _, err := valuesOf(frame.Values, &Vector{Type: v.Type, Count: int(last - first)}, 0, nil)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		got = append(got, part...)
	}
	if !slices.Equal(got, pointed(v.Values)) {
		t.Errorf("%s: %v", v.Name, got)
	}
}

func checkDictionary(t *testing.T, v *Vector, b []byte) {
	d, err := colstream.ParseDictionary(b, schema.Basic(b[0]), int(v.Holds["fixed_size"].(float64)), true)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	var got []string
	for id := range d.Count {
		if text := strconv.Quote(hex.EncodeToString(d.Value(uint32(id)))); int64(id) != d.Null {
			got = append(got, text)
		} else {
			got = append(got, "null")
		}
	}
	if !slices.Equal(got, pointed(v.Values)) {
		t.Errorf("%s: %v", v.Name, got)
	}
	same(t, v, "sorted", d.Sorted)
}

func checkRangeIndex(t *testing.T, v *Vector, b []byte) {
	width := int(v.Holds["width"].(float64))
	x, err := colstream.ParseRangeIndex(b, schema.Basic(b[2]), width, uint64(v.Count), true)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	invalid := x.Invalid
	if invalid == nil {
		invalid = make([]uint16, x.Blocks())
	}
	same(t, v, "least", blocksOf(x.Min, width))
	same(t, v, "greatest", blocksOf(x.Max, width))
	same(t, v, "invalid", invalid)
}

// The page reports how to make them; it names the files there are.
func TestPageNamesTheFiles(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(string(page), "("+f.Name+".json)") {
			t.Errorf("the page does not name %s.json", f.Name)
		}
	}
}

// The page reports how many vectors each file has, and how many there are.
func TestVectorsAreCounted(t *testing.T) {
	page, err := os.ReadFile(folder + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`\| \[(\w+\.json)\]\(\w+\.json\) \| (\d+) \|`).FindAllStringSubmatch(string(page), -1)
	files, err := filepath.Glob(folder + "/*.json")
	if err != nil || len(rows) != len(files) {
		t.Fatalf("%d rows for %d files (%v)", len(rows), len(files), err)
	}
	sum := 0
	for _, row := range rows {
		b, err := os.ReadFile(filepath.Join(folder, row[1]))
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Vectors []json.RawMessage `json:"vectors"`
		}
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(len(f.Vectors)) != row[2] {
			t.Errorf("%s has %d vectors, the page says %s", row[1], len(f.Vectors), row[2])
		}
		sum += len(f.Vectors)
	}
	if !strings.Contains(string(page), fmt.Sprintf("Together they are %d vectors.", sum)) {
		t.Errorf("the page does not say that there are %d vectors", sum)
	}
}
