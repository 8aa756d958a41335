package schema

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
)

// fieldText is a node in JSON.
type fieldText struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	SchemaID  *uint32        `json:"schema_id,omitempty"`
	Nullable  *bool          `json:"nullable,omitempty"`
	Aliases   []string       `json:"aliases,omitempty"`
	Extension *extensionText `json:"extension,omitempty"`
	Internal  string         `json:"internal,omitempty"`
	Doc       string         `json:"doc,omitempty"`
	Children  []fieldText    `json:"children"`
}

type extensionText struct {
	Label      string         `json:"label"`
	Properties []propertyText `json:"properties,omitempty"`
}

// propertyText is a property of an extension. Its value is text for a string, any JSON for "json", base64 of
// the message for "anyvalue", and left out for "null".
type propertyText struct {
	Name  string          `json:"name"`
	Kind  string          `json:"kind,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

var kindNames = [...]string{"null", "string", "json", "anyvalue"}

// MarshalJSON writes s as {"fields":[…]} in the grammar that Parse reads, with the number of every node.
func (s *Schema) MarshalJSON() ([]byte, error) {
	fields := make([]fieldText, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = textOf(f, f.Name)
	}
	return json.Marshal(struct {
		Fields []fieldText `json:"fields"`
	}{fields})
}

// MarshalJSON writes n as one field of the grammar.
func (n *Node) MarshalJSON() ([]byte, error) { return json.Marshal(textOf(n, n.Name)) }

func textOf(n *Node, name string) fieldText {
	t := fieldText{
		Name: name, Type: n.TypeName(), SchemaID: &n.ID, Aliases: n.Aliases,
		Internal: n.Internal, Doc: n.Doc, Children: make([]fieldText, len(n.Children)),
	}
	if !n.Nullable {
		t.Nullable = new(bool)
	}
	if n.Ext != nil && !n.named() {
		t.Extension = &extensionText{Label: n.Ext.Label}
		for _, p := range n.Ext.Properties {
			t.Extension.Properties = append(t.Extension.Properties, propertyTextOf(p))
		}
	}
	for i, c := range n.Children {
		t.Children[i] = textOf(c, n.ChildName(i))
	}
	return t
}

func propertyTextOf(p ExtensionProperty) propertyText {
	t := propertyText{Name: p.Name, Kind: kindNames[p.Kind]}
	switch p.Kind {
	case PropertyString:
		t.Value, _ = json.Marshal(string(p.Data))
	case PropertyJSON:
		if t.Value = p.Data; !json.Valid(p.Data) {
			t.Value, _ = json.Marshal(string(p.Data))
		}
	case PropertyAnyValue:
		t.Value, _ = json.Marshal(base64.StdEncoding.EncodeToString(p.Data))
	}
	return t
}

// parseJSON reads {"fields":[…]} or the bare list of fields.
func parseJSON(text []byte) (*Schema, error) {
	var doc struct {
		Fields []fieldText `json:"fields"`
	}
	var to any = &doc
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		to = &doc.Fields
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return nil, invalid("%v", err)
	}
	if d.More() {
		return nil, invalid("unexpected text after the schema at byte %d", d.InputOffset())
	}
	s := new(Schema)
	for i := range doc.Fields {
		n, err := doc.Fields[i].node(1)
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, n)
	}
	return s, nil
}

// node makes the node that t describes. Its type may be written in the short form, with its children inside.
func (t *fieldText) node(depth int) (*Node, error) {
	if depth > schemafb.MaxDepth {
		return nil, invalid("nodes nest deeper than %d levels", schemafb.MaxDepth)
	}
	n, err := t.typeNode()
	if err != nil {
		return nil, invalid("field %q: %v", t.Name, strings.TrimPrefix(err.Error(), ErrInvalid.Error()+": "))
	}
	n.Name, n.Aliases, n.Internal, n.Doc = t.Name, t.Aliases, t.Internal, t.Doc
	if t.Nullable != nil {
		n.Nullable = *t.Nullable
	}
	if t.Extension != nil {
		if n.Ext, err = t.Extension.extension(); err != nil {
			return nil, err
		}
	}
	for i := range t.Children {
		c, err := t.Children[i].node(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, c)
	}
	return n, nil
}

func (t *fieldText) typeNode() (*Node, error) {
	name, size, sized := t.Type, uint64(0), false
	if open := strings.IndexByte(name, '('); open >= 0 && strings.HasSuffix(name, ")") && !strings.Contains(name, "<") {
		var err error
		if size, err = strconv.ParseUint(strings.TrimSpace(name[open+1:len(name)-1]), 10, 32); err != nil {
			return nil, invalid("type %q has no size", t.Type)
		}
		name, sized = strings.TrimSpace(name[:open]), true
	}
	if !strings.Contains(name, "<") {
		return newNode(name, size, sized)
	}
	if len(t.Children) > 0 {
		return nil, invalid("type %q has children inside, and a list of children", t.Type)
	}
	return parseType(t.Type)
}

func (t *extensionText) extension() (*Extension, error) {
	e := &Extension{Label: t.Label}
	for _, p := range t.Properties {
		property, err := p.property()
		if err != nil {
			return nil, err
		}
		e.Properties = append(e.Properties, property)
	}
	return e, nil
}

func (t propertyText) property() (ExtensionProperty, error) {
	p := ExtensionProperty{Name: t.Name}
	var text string
	isText := json.Unmarshal(t.Value, &text) == nil && len(t.Value) > 0
	switch kind := strings.ToLower(t.Kind); {
	case kind == "null" || kind == "" && (len(t.Value) == 0 || string(t.Value) == "null"):
		p.Kind = PropertyNull
	case (kind == "string" || kind == "") && isText:
		p.Kind, p.Data = PropertyString, []byte(text)
	case kind == "json" || kind == "":
		p.Kind, p.Data = PropertyJSON, t.Value
	case kind == "anyvalue" && isText:
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return p, invalid("property %q: %v", t.Name, err)
		}
		p.Kind, p.Data = PropertyAnyValue, data
	default:
		return p, invalid("property %q: kind %q with value %s", t.Name, t.Kind, t.Value)
	}
	return p, nil
}
