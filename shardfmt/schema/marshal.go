package schema

// Marshal serializes s with its lookup tables. Nodes must have been numbered (Number) and be valid
// (Validate). Equal schemas are equal bytes, the bytes that the reference writes for them; Nullable and Doc
// are not on the wire.
func Marshal(s *Schema) []byte {
	w := newFlatWriter(96 * int(s.Count))
	fields := make([]int, len(s.Fields))
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = w.field(f)
		names[i] = f.Name
	}
	list := w.refs(fields)
	lookup := w.lookup(names)
	return w.finish(w.table(slots(
		to(slotSchemaFields, list),
		number(slotSchemaCount, 4, uint64(s.Count)),
		to(slotSchemaLookup, lookup),
	)))
}

// slots leaves out fields that have their default value.
func slots(all ...slotValue) []slotValue {
	present := all[:0]
	for _, f := range all {
		if f.mark != 0 || f.value != 0 {
			present = append(present, f)
		}
	}
	return present
}

// to is a slot that refers to the item at mark; none if mark is 0.
func to(slot, mark int) slotValue { return slotValue{slot: slot, size: 4, mark: mark} }

// number is a slot of a scalar.
func number(slot, size int, v uint64) slotValue { return slotValue{slot: slot, size: size, value: v} }

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (w *flatWriter) field(n *Node) int {
	typ := w.node(n)
	internal := 0
	if n.Internal != "" {
		internal = w.table(slots(to(slotInternalKind, w.text(n.Internal))))
	}
	return w.table(slots(to(slotFieldType, typ), to(slotFieldInternal, internal)))
}

// node writes a DataType after everything it refers to, in slot order.
func (w *flatWriter) node(n *Node) int {
	name := w.text(n.Name)
	aliases := w.texts(n.Aliases)
	children := make([]int, len(n.Children))
	for i, c := range n.Children {
		children[i] = w.node(c)
	}
	list := w.refs(children)
	ext := w.extension(n.Ext)
	lookup := 0
	if names, ok := lookupNames(n); ok {
		lookup = w.lookup(names)
	}
	return w.table(slots(
		number(slotTypeBasic, 1, uint64(n.Basic)),
		number(slotTypeID, 4, uint64(n.ID)),
		number(slotTypeParent, 4, uint64(n.Parent)),
		to(slotTypeName, name),
		to(slotTypeAliases, aliases),
		to(slotTypeChildren, list),
		number(slotTypeSigned, 1, flag(n.Signed)),
		number(slotTypeSize, 8, n.FixedSize),
		to(slotTypeExt, ext),
		to(slotTypeLookup, lookup),
	))
}

// lookupNames are the names of a node's children, if they are to be in a lookup table.
func lookupNames(n *Node) ([]string, bool) {
	if n.Basic != Struct && n.Basic != Union || len(n.Children) < lookupChildren {
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

func (w *flatWriter) lookup(names []string) int {
	buckets, entries := buildLookup(names)
	b := w.numbers(buckets)
	e := w.numbers(entries)
	return w.table(slots(to(slotLookupBuckets, b), to(slotLookupEntries, e)))
}

func (w *flatWriter) texts(all []string) int {
	if len(all) == 0 {
		return 0
	}
	marks := make([]int, len(all))
	for i, s := range all {
		marks[i] = w.text(s)
	}
	return w.refs(marks)
}

func (w *flatWriter) extension(e *Extension) int {
	if e == nil {
		return 0
	}
	label := w.text(e.Label)
	properties := make([]int, len(e.Properties))
	for i, p := range e.Properties {
		name := w.text(p.Name)
		data := w.blob(p.Data)
		value := w.table(slots(number(slotValueKind, 1, uint64(p.Kind)), to(slotValueData, data)))
		properties[i] = w.table(slots(to(slotPropertyName, name), to(slotPropertyValue, value)))
	}
	list := w.refs(properties)
	return w.table(slots(to(slotExtLabel, label), to(slotExtProperties, list)))
}
