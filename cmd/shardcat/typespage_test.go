package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// typeExamples are column types of docs/reference/types.md that need parameters or children.
var typeExamples = map[string]string{
	"FixedSizeBinary(n)": "FixedSizeBinary(7)", "FixedSizeList(n)": "FixedSizeList(7)<Int64>", "List": "List<Int64>",
	"Struct": "Struct<x: Int64>", "Map": "Map<String, Int64>", "Union": "Union<x: Int64, y: String>",
}

var pageCode = regexp.MustCompile("`([^`]+)`")

// TestTypesPage creates a table per type of docs/reference/types.md, scans it with the filters of the page, and compares the types of
// Iceberg and Arrow with those of the page. Every basic type of the format is on the page.
func TestTypesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/types.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 6 || !strings.HasPrefix(line, "| `") {
			continue
		}
		names := pageCode.FindAllStringSubmatch(cells[0], -1)
		for i, name := range names {
			base, _, _ := strings.Cut(name[1], "(")
			seen[base] = true
			t.Run(base, func(t *testing.T) {
				filter := cells[2]
				if len(names) > 1 && strings.Contains(filter, "-") {
					filter = strings.ReplaceAll(filter, "-", "")
				}
				checkType(t, name[1], filter, pick(cells[4], i), pick(strings.TrimSuffix(cells[5], " |"), i))
			})
		}
	}
	for b := schema.Unit; b <= schema.Union; b++ {
		if !seen[b.String()] || b.IsInteger() && !seen["U"+b.String()] {
			t.Errorf("docs/reference/types.md lacks the type %s", b)
		}
	}
}

// pick returns part i of a list in a cell, or the cell if it has one part for all.
func pick(cell string, i int) string {
	if parts := strings.Split(cell, ", "); i < len(parts) && !strings.Contains(cell, "[") && !strings.Contains(cell, " ") || len(parts) > i && i > 0 {
		return parts[i]
	}
	return cell
}

func checkType(t *testing.T, name, filters, arrowType, icebergType string) {
	t.Chdir(t.TempDir())
	text := name
	if example, ok := typeExamples[name]; ok {
		text = example
	}
	code, out := runIn(t, "table", "create", "t", "--schema", "c: "+text)
	if icebergType == "refused" {
		if code == exitDone {
			t.Errorf("a column of %s is accepted: %s", text, out)
		}
		return
	}
	if code != exitDone {
		t.Fatal(out)
	}
	if got := icebergTypeOf(t); !strings.HasPrefix(icebergType, strings.ReplaceAll(strings.ReplaceAll(got, " ", ""), "7", "n")) {
		t.Errorf("Iceberg: %s, the page has %s", got, icebergType)
	}
	if err := os.WriteFile("a.ndjson", []byte("{\"c\":null}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := runIn(t, "ingest", "t", "a.ndjson"); code != exitDone {
		t.Fatal(out)
	}
	for _, filter := range pageCode.FindAllStringSubmatch(filters, -1) {
		where := strings.ReplaceAll(filter[1], "0011…", "00112233-4455-6677-8899-aabbccddeeff")
		if code, out := runIn(t, "scan", "t", "--where", where, "--count"); code != exitDone {
			t.Errorf("%s: exit code %d: %s", where, code, out)
		}
	}
	if code, out := runIn(t, "export", "t", "a.arrow"); code != exitDone {
		t.Fatal(out)
	}
	data, err := os.ReadFile("a.arrow")
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := arrowNameOf(r.Schema().Field(0)); !strings.Contains(arrowType, got) {
		t.Errorf("Arrow: %s, the page has %s", got, arrowType)
	}
}

// icebergTypeOf returns the type of the only column in the newest metadata file of the only table: its name if it is nested.
func icebergTypeOf(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("shardcat/warehouse/default/*/metadata/*.metadata.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	var metadata struct {
		Schemas []struct {
			Fields []struct{ Type json.RawMessage }
		}
	}
	if err := json.Unmarshal(text, &metadata); err != nil {
		t.Fatal(err)
	}
	var name string
	var nested struct{ Type string }
	raw := metadata.Schemas[0].Fields[0].Type
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	if err := json.Unmarshal(raw, &nested); err != nil {
		t.Fatal(err)
	}
	return nested.Type
}

// arrowNameOf is the name by which the page calls an Arrow type.
func arrowNameOf(f arrow.Field) string {
	if name, ok := f.Metadata.GetValue("ARROW:extension:name"); ok {
		return name
	}
	switch dt := f.Type.(type) {
	case arrow.ExtensionType:
		return dt.ExtensionName()
	case *arrow.TimestampType:
		return "timestamp[" + dt.Unit.String() + ", " + dt.TimeZone + "]"
	case *arrow.DurationType:
		return "duration[" + dt.Unit.String() + "]"
	case *arrow.FixedSizeBinaryType:
		return "fixed_size_binary(n)"
	case *arrow.StringType:
		return "text"
	default:
		return strings.Split(dt.Name(), "<")[0]
	}
}
