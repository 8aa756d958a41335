package avrofile

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Kind of a type.
type Kind uint8

// The kinds, by Avro's names.
const (
	Null Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Enum
	Record
	Array
	Map
	Union
)

var kinds = map[string]Kind{
	"null": Null, "boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double, "bytes": Bytes,
	"string": String, "fixed": Fixed, "enum": Enum, "record": Record, "array": Array, "map": Map,
}

// Type is a type of a schema.
type Type struct {
	Kind Kind
	// Logical is the logical type, "" for none; Scale is that of a decimal.
	Logical string
	Scale   int
	// Size of a Fixed.
	Size int
	// Fields of a Record, Items of an Array or the values of a Map, Branches of a Union.
	Fields   []Field
	Items    *Type
	Branches []*Type
}

// Field of a record.
type Field struct {
	Name string
	// ID is Iceberg's field id, 0 if there is none.
	ID   int
	Type *Type
}

// Field is the field of a record with a name, nil if there is none.
func (t *Type) Field(name string) *Field {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// Value is the type of the values of an optional field: t itself, or of a union of null and one other type that one.
func (t *Type) Value() *Type {
	if t.Kind == Union && len(t.Branches) == 2 {
		for i, b := range t.Branches {
			if b.Kind == Null {
				return t.Branches[1-i]
			}
		}
	}
	return t
}

// maxSchema bounds the text of a schema; those of manifests have some ten kilobytes.
const maxSchema = 4 << 20

// maxDepth of nested types; manifests have six.
const maxDepth = 32

// parser makes types of a schema's JSON. Named types that are not records may be named again; records may not, so that
// a schema is not larger than its text.
type parser struct {
	named map[string]*Type
}

// parsed are schemas by their text: thousands of small manifests have the same, and to parse it takes longer than to read their
// entries. Types are never changed.
var parsed = struct {
	sync.Mutex
	types map[string]*Type
}{types: map[string]*Type{}}

// maxParsed schemas of up to maxParsedText bytes are remembered, some megabytes in all.
const maxParsed, maxParsedText = 32, 64 << 10

func parseSchema(text []byte) (*Type, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%w: a schema of %d bytes", ErrUnsupported, len(text))
	}
	parsed.Lock()
	t := parsed.types[string(text)]
	parsed.Unlock()
	if t != nil {
		return t, nil
	}
	p := parser{named: map[string]*Type{}}
	t, err := p.parse(text, 0)
	if err == nil && len(text) <= maxParsedText {
		parsed.Lock()
		defer parsed.Unlock()
		if len(parsed.types) >= maxParsed {
			clear(parsed.types)
		}
		parsed.types[string(text)] = t
	}
	return t, err
}

// declared is what a type states about itself.
type declared struct {
	Type        json.RawMessage   `json:"type"`
	Name        string            `json:"name"`
	LogicalType string            `json:"logicalType"`
	Scale       int               `json:"scale"`
	Size        int               `json:"size"`
	Items       json.RawMessage   `json:"items"`
	Values      json.RawMessage   `json:"values"`
	Fields      []json.RawMessage `json:"fields"`
}

func (p *parser) parse(text json.RawMessage, depth int) (*Type, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: types nest deeper than %d", ErrUnsupported, maxDepth)
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("%w: a type is missing", ErrUnsupported)
	}
	switch text[0] {
	case '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		return p.byName(name)
	case '[':
		return p.union(text, depth)
	}
	var d declared
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return p.declared(&d, depth)
}

// byName is a type without members, or a fixed or enum that was declared before.
func (p *parser) byName(name string) (*Type, error) {
	if t := p.named[name]; t != nil {
		return t, nil
	}
	if k, ok := kinds[name]; ok && k < Fixed {
		return &Type{Kind: k}, nil
	}
	return nil, fmt.Errorf("%w: type %q", ErrUnsupported, name)
}

func (p *parser) union(text json.RawMessage, depth int) (*Type, error) {
	var branches []json.RawMessage
	if err := json.Unmarshal(text, &branches); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	u := &Type{Kind: Union}
	for _, b := range branches {
		t, err := p.parse(b, depth+1)
		if err != nil {
			return nil, err
		}
		u.Branches = append(u.Branches, t)
	}
	return u, nil
}

func (p *parser) declared(d *declared, depth int) (t *Type, err error) {
	var name string
	if json.Unmarshal(d.Type, &name) != nil { // {"type": {…}} is that type
		return p.parse(d.Type, depth+1)
	}
	k, ok := kinds[name]
	if !ok || d.Size < 0 {
		return nil, fmt.Errorf("%w: type %q of size %d", ErrUnsupported, name, d.Size)
	}
	t = &Type{Kind: k, Logical: d.LogicalType, Scale: d.Scale, Size: d.Size}
	switch k {
	case Record:
		err = p.fields(t, d.Fields, depth)
	case Array:
		t.Items, err = p.parse(d.Items, depth+1)
	case Map:
		t.Items, err = p.parse(d.Values, depth+1)
	case Fixed, Enum:
		p.named[d.Name] = t
	}
	return t, err
}

func (p *parser) fields(t *Type, fields []json.RawMessage, depth int) error {
	for _, text := range fields {
		var f struct {
			Name string          `json:"name"`
			ID   int             `json:"field-id"`
			Type json.RawMessage `json:"type"`
		}
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		typ, err := p.parse(f.Type, depth+1)
		if err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
		t.Fields = append(t.Fields, Field{f.Name, f.ID, typ})
	}
	return nil
}
