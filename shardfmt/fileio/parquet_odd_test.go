package fileio_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// oddParquet are small files of what few writers write, with their rows, and why a shard can't refer to them, "" where it can.
var oddParquet = []struct{ file, want, external string }{
	{"files/hadoop_lz4_compressed.parquet", `{"c0":1593604800,"c1":"YWJj","v11":42.0} {"c0":1593604800,"c1":"ZGVm","v11":7.7} {"c0":1593604801,"c1":"YWJj","v11":42.125} {"c0":1593604801,"c1":"ZGVm","v11":7.7}`, ""},
	{"files/non_hadoop_lz4_compressed.parquet", `{"c0":1593604800,"c1":"YWJj","v11":42.0} {"c0":1593604800,"c1":"ZGVm","v11":7.7} {"c0":1593604801,"c1":"YWJj","v11":42.125} {"c0":1593604801,"c1":"ZGVm","v11":7.7}`, ""},
	{"files/datapage_v2_empty_datapage.snappy.parquet", `{"value":null}`, ""},
	{"odd/empty_v2_pages.parquet", `{"n":null,"s":null,"l":[]} {"n":null,"s":null,"l":null} {"n":null,"s":null,"l":[]} {"n":null,"s":null,"l":null} {"n":null,"s":null,"l":[]}`, ""},
	{"odd/encodings_without_dictionary.parquet", `{"s":"a"} {"s":"b"} {"s":"a"} {"s":null}`, ""},
	{"odd/encodings_without_delta.parquet", `{"n":5,"t":"ab"} {"n":7,"t":"ac"} {"n":null,"t":null} {"n":1099511627776,"t":""}`, ""},
	{"odd/unknown_logical_type.parquet", `{"u":"AAAAAAAAAAAAAAAAAAAAAQ=="} {"u":"AAAAAAAAAAAAAAAAAAAAAg=="}`, ""},
	{"files/variant_nullable_metadata.parquet", `{"id":1,"var":"2024-11-07T12:33:54.123456Z"}`, `column "var" is or contains a group of the type`},
	{"files/int96_9999.parquet", `{"t":"9999-12-31T15:59:59.009999Z"} {"t":"2006-01-02T07:04:05Z"} {"t":"0001-01-01T00:00:00Z"}`, ""},
	{"odd/flba_delta_byte_array.parquet", `{"f":"YWFhYTE="} {"f":"YWFhYTI="} {"f":null} {"f":"YWFhYjE="} {"f":"YmJiYjE="}`, ""},
	{"odd/flba_delta_nested.parquet", `{"f":"YWFhYTE=","l":["eHk="]} {"f":"YWFhYTI=","l":[]} {"f":null,"l":null} {"f":"YWFhYjE=","l":["eHo=","YWI="]} {"f":"YmJiYjE=","l":[null]}`, ""},
	{"odd/int96_nested.parquet", `{"l":["0001-01-01T00:00:00Z","9999-12-31T23:59:59.999999Z",null],"s":{"t":"1583-02-03T04:05:06.789Z","u":{"v":"9999-12-31T23:59:59.999999Z"}},"m":[{"key":"a","value":"1969-12-31T23:59:59.999999Z"},{"key":"b","value":"2262-04-12T00:00:00Z"}],"ll":[["0001-01-01T00:00:00Z"],[],null,["9999-12-31T23:59:59.999999Z",null]],"f":"1583-02-03T04:05:06.789Z"} {"l":null,"s":null,"m":null,"ll":null,"f":null} {"l":[],"s":{"t":null,"u":null},"m":[],"ll":[],"f":"9999-12-31T23:59:59.999999Z"} {"l":["2262-04-12T00:00:00Z"],"s":{"t":"2262-04-12T00:00:00Z","u":{"v":null}},"m":[{"key":"x","value":null}],"ll":[["1583-02-03T04:05:06.789Z","1969-12-31T23:59:59.999999Z"]],"f":"0001-01-01T00:00:00Z"}`, ""},
	{"odd/int96_beyond_the_day.parquet", `{"t":"1969-12-31T23:59:59.9999998Z"} {"t":"1970-01-01T00:00:00Z"}`, ""},
	{"files/duplicate_names.parquet", `{"a":1,"a_1":"x"}`, `more than one column is named "a"`},
	{"files/empty_name.parquet", `{"column1":1,"b":2}`, `column "" has no name`},
	{"odd/v2_compressed_but_flagged_not.parquet", `{"col1":1,"col2":"a","col3":1.0,"col4":"a"} {"col1":2,"col2":"b","col3":2.0,"col4":"a"} {"col1":3,"col2":"c","col3":3.0,"col4":"a"} {"col1":4,"col2":"d","col3":4.0,"col4":"b"} {"col1":5,"col2":"e","col3":5.0,"col4":"b"}`, ""},
	{"files/old_list_structure.parquet", `{"a":[[1,2],[3,4]]}`, ""},
}

// Files of what few writers write have the same rows when they are copied and when a shard refers to them, or are refused by name.
func TestOddParquet(t *testing.T) {
	for _, c := range oddParquet {
		t.Run(strings.TrimSuffix(filepath.Base(c.file), ".parquet"), func(t *testing.T) {
			sp := blobio.NewClient(blobio.ClientOptions{})
			defer sp.Close()
			b, err := os.ReadFile("testdata/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			folder := "mem://odd-" + strings.NewReplacer("_", "-", ".", "-").Replace(filepath.Base(c.file)) + "/"
			file := folder + filepath.Base(c.file)
			if err := sp.Put(t.Context(), file, b); err != nil {
				t.Fatal(err)
			}
			for _, rows := range []int{1, 1000} {
				src, err := fileio.OpenSource(t.Context(), sp, []string{file}, fileio.SourceOptions{InProcess: true, BatchRows: rows})
				if err != nil {
					t.Fatal(err)
				}
				got := through(t, sp, folder+"copy.amudai.shard", src, shardfmt.WriterOptions{})
				if got = strings.Join(strings.Split(strings.TrimSpace(got), "\n"), " "); got != c.want {
					t.Errorf("copied, in batches of %d:\n%s, want\n%s", rows, got, c.want)
				}
				src.Close()
				if err := sp.Delete(t.Context(), folder+"copy.amudai.shard", ""); err != nil {
					t.Fatal(err)
				}
			}
			root := folder + "over.amudai.shard"
			_, err = shardfmt.WriteExternalParquet(t.Context(), sp, root, []string{file}, shardfmt.ExternalOptions{})
			if c.external != "" {
				if err == nil || !strings.Contains(err.Error(), c.external) || !strings.Contains(err.Error(), "unsupported data") {
					t.Errorf("external: %v, want %q", err, c.external)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Split(strings.TrimSpace(rowsOf(t, sp, root, shardfmt.ScanOptions{})), "\n"), " "); got != c.want {
				t.Errorf("external:\n%s, want\n%s", got, c.want)
			}
			if r, err := verify.Shard(t.Context(), sp, root, verify.Options{}); err != nil || !r.OK {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

// Pages that are said to be compressed and can't be unpacked are corrupt, also where their bytes have the size that they should have.
func TestParquetPagesThatAreNotCompressed(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	b, err := os.ReadFile("testdata/odd/v2_flagged_compressed_but_not.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if err := sp.Put(t.Context(), "mem://not-compressed/a.parquet", b); err != nil {
		t.Fatal(err)
	}
	src, err := fileio.OpenSource(t.Context(), sp, []string{"mem://not-compressed/a.parquet"}, fileio.SourceOptions{InProcess: true})
	if err == nil {
		_, err = src.Next(t.Context())
		src.Close()
	}
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Error(err)
	}
}
