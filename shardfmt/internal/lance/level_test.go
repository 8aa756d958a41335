package lance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// A level is stored where zstd compresses, makes the bytes fewer, and goes with zstd alone.
func TestCompressionLevel(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "other", Type: arrow.BinaryTypes.String, Metadata: arrow.NewMetadata([]string{compressionKey}, []string{schemeLz4})},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	var rows []string
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 4000 {
		text := ""
		for range 12 {
			text += fmt.Sprintf("word%d ", r.IntN(1+r.IntN(3000)))
		}
		rows = append(rows, fmt.Sprintf(`{"s":%q,"other":"%d","n":%d}`, text, i, i))
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	size := map[string]int{}
	for _, level := range []string{"", "1", "19"} {
		settings := fileformat.Settings{optionCompression: schemeZstd}
		want := "zstd}"
		if level != "" {
			settings[optionLevel], want = level, "zstd level "+level+"}"
		}
		o, err := WriteSettings(fileformat.SinkOptions{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		data := written(t, s, []arrow.RecordBatch{b}, o)
		f, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		if what, err := differs(f, s, []arrow.RecordBatch{b}, ReadOptions{}); what != "" || err != nil {
			t.Error(what, err)
		}
		size[level] = len(data)
		for i, wanted := range []string{want, "lz4}", "NoNull{Flat{64}}"} {
			encodings, err := f.encodings(context.Background(), f.columns[i])
			if err != nil || !strings.Contains(encodings[0].String(), wanted) {
				t.Errorf("level %q, column %d: %v, %v, want %s", level, i, encodings, err, wanted)
			}
		}
	}
	if size["19"] >= size["1"] {
		t.Errorf("bytes by level: %v", size)
	}
	for _, bad := range []fileformat.Settings{{optionLevel: "3"}, {optionLevel: "3", optionCompression: schemeLz4},
		{optionLevel: "0", optionCompression: schemeZstd}, {optionLevel: "23", optionCompression: schemeZstd}, {optionLevel: "best", optionCompression: schemeZstd}} {
		var option *fileformat.OptionError
		if _, err := WriteSettings(fileformat.SinkOptions{Settings: bad}); !errors.As(err, &option) || option.Name != optionLevel {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// Whatever a file states about its compression besides the scheme, the values are the same.
func TestLevelsAreIgnored(t *testing.T) {
	plain := words(7, 8, 9)
	packed, err := compress(schemeZstd, 0, plain)
	if err != nil {
		t.Fatal(err)
	}
	negative := int64(-5)
	for name, how := range map[string][]byte{
		"a level":          appendNumber(appendMessage(nil, 1, []byte(schemeZstd)), 2, 19),
		"one below zero":   appendNumber(appendMessage(nil, 1, []byte(schemeZstd)), 2, uint64(negative)),
		"one beyond sense": appendNumber(appendMessage(nil, 1, []byte(schemeZstd)), 2, 1<<40),
		"one of text":      appendMessage(appendMessage(nil, 1, []byte(schemeZstd)), 2, []byte("best")),
		"other fields":     appendNumber(appendMessage(appendMessage(nil, 1, []byte(schemeZstd)), 9, []byte("more")), 10, 3),
	} {
		flat := appendMessage(appendMessage(appendNumber(nil, 1, 64), 2, bufferAt(0)), 3, how)
		h := handmade{3, noNulls(arrayEncoding(flatKind, flat)), [][]byte{packed}}
		f, err := open(h.file(t, []Field{{Name: "n", Parent: NoParent, LogicalType: "int64"}}, 3))
		if err != nil {
			t.Fatal(err)
		}
		src, err := f.NewSource(context.Background(), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := src.Next(context.Background()); err != nil || fmt.Sprint(got.Column(0)) != "[7 8 9]" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		src.Close()
	}
}
