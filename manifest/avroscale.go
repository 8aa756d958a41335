package manifest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// An Avro object container file begins with a header:
//
//	"Obj" 0x01 | metadata: blocks of (count, then count × (key, value)), ended by a count of 0 | 16-byte marker
//
// Counts and lengths are zigzag varints; a negative count is followed by the block's length in bytes.
const (
	avroMagic     = "Obj\x01"
	avroSchemaKey = "avro.schema"
)

var errAvroHeader = errors.New("manifest: not the header of an Avro file")

// withDecimalScale adds to the schema of an Avro file the scales that iceberg-go leaves out because they are 0.
// Avro's specification allows that; several readers of other languages don't. Files without decimals come back as
// they are.
func withDecimalScale(file []byte) ([]byte, error) {
	if !bytes.Contains(file, []byte(`"decimal"`)) {
		return file, nil
	}
	rest, ok := bytes.CutPrefix(file, []byte(avroMagic))
	if !ok {
		return nil, errAvroHeader
	}
	h := avroHeader{left: rest}
	out := []byte(avroMagic)
	for {
		count := h.long()
		if count < 0 {
			h.long() // the block's length, which is about to change
			count = -count
		}
		out = binary.AppendVarint(out, count)
		if h.bad || count == 0 {
			break
		}
		for ; count > 0 && !h.bad; count-- {
			key, value := h.bytes(), h.bytes()
			if string(key) == avroSchemaKey {
				value = scaledSchema(value)
			}
			out = appendAvroBytes(appendAvroBytes(out, key), value)
		}
	}
	if h.bad {
		return nil, errAvroHeader
	}
	return append(out, h.left...), nil
}

func appendAvroBytes(to, b []byte) []byte {
	return append(binary.AppendVarint(to, int64(len(b))), b...)
}

// avroHeader reads a header; bad means that it ended early.
type avroHeader struct {
	left []byte
	bad  bool
}

func (h *avroHeader) long() int64 {
	v, n := binary.Varint(h.left) // Avro's zigzag is encoding/binary's
	if n <= 0 {
		h.bad, n = true, 0
	}
	h.left = h.left[n:]
	return v
}

func (h *avroHeader) bytes() []byte {
	n := h.long()
	if n < 0 || n > int64(len(h.left)) {
		h.bad, n = true, 0
	}
	b := h.left[:n]
	h.left = h.left[n:]
	return b
}

// scaledSchema adds "scale": 0 to the decimals of a schema that have none.
func scaledSchema(text []byte) []byte {
	var doc any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return text
	}
	addScales(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		return text
	}
	return out
}

func addScales(doc any) {
	switch doc := doc.(type) {
	case []any:
		for _, v := range doc {
			addScales(v)
		}
	case map[string]any:
		if _, has := doc["scale"]; !has && doc["logicalType"] == "decimal" {
			doc["scale"] = 0
		}
		for _, v := range doc {
			addScales(v)
		}
	}
}
