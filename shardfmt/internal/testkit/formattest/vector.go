package formattest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Vector is one piece of a shard and what it holds.
type Vector struct {
	// Name reports what is special about it.
	Name string `json:"name"`
	// Type of the values, a type of the schema ("UInt16", "Float64", "String", "FixedSizeBinary(4)"); Count is how many values.
	Type  string `json:"type,omitempty"`
	Count int    `json:"count"`
	// Tree are the encodings, as "RunLength[raw, SingleValue]"; only blocks have them.
	Tree string `json:"tree,omitempty"`
	// Bytes in hexadecimal digits, 32 bytes to a line.
	Bytes []string `json:"bytes"`
	// Values as text, null for nulls.
	Values []*string `json:"values,omitempty"`
	// Holds is what a piece that is not a block states, by name.
	Holds map[string]any `json:"holds,omitempty"`
}

// File is a file of vectors.
type File struct {
	// Name of the file, without its suffix.
	Name string `json:"-"`
	// About reports what the vectors are.
	About   string   `json:"about"`
	Vectors []Vector `json:"vectors"`
}

// Data are the bytes of v.
func (v *Vector) Data() ([]byte, error) { return hex.DecodeString(strings.Join(v.Bytes, "")) }

// lineBytes is how many bytes stand in a line.
const lineBytes = 32

// hexLines gives bytes as lines of digits; none for no bytes.
func hexLines(b []byte) []string {
	lines := []string{}
	for line := range slices.Chunk(b, lineBytes) {
		lines = append(lines, hex.EncodeToString(line))
	}
	return lines
}

// Encode gives the file as it is stored: every vector's bytes a line each, its values in one.
func (f *File) Encode() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n \"about\": %s,\n \"vectors\": [", compact(f.About))
	for i, v := range f.Vectors {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n  {\n   \"name\": %s,\n", compact(v.Name))
		if v.Type != "" {
			fmt.Fprintf(&out, "   \"type\": %s,\n", compact(v.Type))
		}
		fmt.Fprintf(&out, "   \"count\": %d,\n", v.Count)
		if v.Tree != "" {
			fmt.Fprintf(&out, "   \"tree\": %s,\n", compact(v.Tree))
		}
		out.WriteString("   \"bytes\": [")
		for j, line := range v.Bytes {
			if j > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, "\n    %s", compact(line))
		}
		out.WriteByte(']')
		if v.Values != nil {
			fmt.Fprintf(&out, ",\n   \"values\": %s", compact(v.Values))
		}
		if v.Holds != nil {
			fmt.Fprintf(&out, ",\n   \"holds\": %s", compact(v.Holds))
		}
		out.WriteString("\n  }")
	}
	out.WriteString("\n ]\n}\n")
	if !json.Valid(out.Bytes()) {
		return nil, fmt.Errorf("vectors %s are no JSON", f.Name)
	}
	return out.Bytes(), nil
}

// compact is a value as JSON in one line; all values here can be.
func compact(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Files makes all vectors.
func Files() ([]*File, error) {
	var files []*File
	for _, make := range []func() (*File, error){numberFile, floatFile, textFile, presenceFile, bufferFile, shardFile} {
		f, err := make()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
