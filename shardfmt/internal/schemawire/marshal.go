package schemawire

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Marshal serializes s with its lookup tables. Nodes must have been numbered (Number) and be valid
// (Validate). Equal schemas are equal bytes; Nullable and Doc are not on the wire.
func Marshal(s *schema.Schema) []byte {
	w := writer{flatbuffers.NewBuilder(96 * int(s.Count))}
	fields := make([]flatbuffers.UOffsetT, len(s.Fields))
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = w.field(f)
		names[i] = f.Name
	}
	list := w.offsets(fields)
	lookup := w.lookup(names)
	schemafb.SchemaStart(w.b)
	schemafb.SchemaAddFields(w.b, list)
	schemafb.SchemaAddSchemaIdCount(w.b, s.Count)
	schemafb.SchemaAddFieldLookup(w.b, lookup)
	w.b.Finish(schemafb.SchemaEnd(w.b))
	return w.b.FinishedBytes()
}

// writer writes tables after everything that they refer to, as the builder demands. An offset of 0 stands for a
// reference that is left out.
type writer struct{ b *flatbuffers.Builder }

func (w writer) field(n *schema.Node) flatbuffers.UOffsetT { return w.fieldOf(n, w.node(n)) }

// fieldOf is the field whose type was written.
func (w writer) fieldOf(n *schema.Node, typ flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	var internal flatbuffers.UOffsetT
	if n.Internal != "" {
		kind := w.b.CreateSharedString(n.Internal)
		schemafb.InternalFieldAnnotationStart(w.b)
		schemafb.InternalFieldAnnotationAddKind(w.b, kind)
		internal = schemafb.InternalFieldAnnotationEnd(w.b)
	}
	schemafb.FieldStart(w.b)
	schemafb.FieldAddDataType(w.b, typ)
	schemafb.FieldAddInternalFieldAnnotation(w.b, internal)
	return schemafb.FieldEnd(w.b)
}

func (w writer) node(n *schema.Node) flatbuffers.UOffsetT {
	name := w.b.CreateSharedString(n.Name)
	aliases := w.aliases(n.Aliases)
	children := make([]flatbuffers.UOffsetT, len(n.Children))
	for i, c := range n.Children {
		children[i] = w.node(c)
	}
	list := w.offsets(children)
	extension := w.extension(n.Ext)
	var lookup flatbuffers.UOffsetT
	if names, ok := lookupNames(n); ok {
		lookup = w.lookup(names)
	}
	schemafb.DataTypeStart(w.b)
	// The widest first, so that no padding lies between them.
	schemafb.DataTypeAddFixedSize(w.b, n.FixedSize)
	schemafb.DataTypeAddSchemaId(w.b, n.ID)
	schemafb.DataTypeAddParentSchemaId(w.b, n.Parent)
	schemafb.DataTypeAddFieldName(w.b, name)
	schemafb.DataTypeAddFieldAliases(w.b, aliases)
	schemafb.DataTypeAddChildren(w.b, list)
	schemafb.DataTypeAddExtendedType(w.b, extension)
	schemafb.DataTypeAddLookup(w.b, lookup)
	schemafb.DataTypeAddBasicType(w.b, schemafb.BasicType(n.Basic))
	schemafb.DataTypeAddSigned(w.b, n.Signed)
	return schemafb.DataTypeEnd(w.b)
}

// lookupNames are the names of a node's children, if they are to be in a lookup table.
func lookupNames(n *schema.Node) ([]string, bool) {
	if n.Basic != schema.Struct && n.Basic != schema.Union || len(n.Children) < lookupChildren {
		return nil, false
	}
	named := 0
	names := make([]string, len(n.Children))
	for i, c := range n.Children {
		if names[i] = c.Name; c.Name != "" {
			named++
		}
	}
	return names, named >= lookupChildren
}

func (w writer) lookup(names []string) flatbuffers.UOffsetT {
	buckets, entries := buildLookup(names)
	b, e := w.numbers(buckets), w.numbers(entries)
	schemafb.HashLookupStart(w.b)
	schemafb.HashLookupAddBuckets(w.b, b)
	schemafb.HashLookupAddEntries(w.b, e)
	return schemafb.HashLookupEnd(w.b)
}

func (w writer) aliases(all []string) flatbuffers.UOffsetT {
	if len(all) == 0 {
		return 0
	}
	texts := make([]flatbuffers.UOffsetT, len(all))
	for i, s := range all {
		texts[i] = w.b.CreateSharedString(s)
	}
	return w.offsets(texts)
}

func (w writer) extension(e *schema.Extension) flatbuffers.UOffsetT {
	if e == nil {
		return 0
	}
	label := w.b.CreateSharedString(e.Label)
	properties := make([]flatbuffers.UOffsetT, len(e.Properties))
	for i, p := range e.Properties {
		properties[i] = w.property(p)
	}
	list := w.offsets(properties)
	schemafb.ExtendedTypeAnnotationStart(w.b)
	schemafb.ExtendedTypeAnnotationAddLabel(w.b, label)
	schemafb.ExtendedTypeAnnotationAddProperties(w.b, list)
	return schemafb.ExtendedTypeAnnotationEnd(w.b)
}

func (w writer) property(p schema.ExtensionProperty) flatbuffers.UOffsetT {
	name := w.b.CreateSharedString(p.Name)
	data := w.b.CreateByteVector(p.Data)
	schemafb.PropertyValueStart(w.b)
	schemafb.PropertyValueAddData(w.b, data)
	schemafb.PropertyValueAddKind(w.b, schemafb.PropertyValueKind(p.Kind))
	value := schemafb.PropertyValueEnd(w.b)
	schemafb.ExtendedTypePropertyStart(w.b)
	schemafb.ExtendedTypePropertyAddName(w.b, name)
	schemafb.ExtendedTypePropertyAddValue(w.b, value)
	return schemafb.ExtendedTypePropertyEnd(w.b)
}

// offsets writes a vector of references; the builder fills vectors from their end.
func (w writer) offsets(to []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	w.b.StartVector(flatbuffers.SizeUOffsetT, len(to), flatbuffers.SizeUOffsetT)
	for i := len(to) - 1; i >= 0; i-- {
		w.b.PrependUOffsetT(to[i])
	}
	return w.b.EndVector(len(to))
}

// numbers writes a vector of u32.
func (w writer) numbers(all []uint32) flatbuffers.UOffsetT {
	w.b.StartVector(flatbuffers.SizeUint32, len(all), flatbuffers.SizeUint32)
	for i := len(all) - 1; i >= 0; i-- {
		w.b.PrependUint32(all[i])
	}
	return w.b.EndVector(len(all))
}
