package fileio

import (
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// members reads the members of JSON objects into columns: those of a Struct, and those of the record.
type members struct {
	path  string // with a dot at its end, or empty
	names []string
	// keys are the names as JSON writes them, empty where it may do so in other ways.
	keys    []string
	columns []column
	index   map[string]int
	state   *readState
	// seen[i] is the number of the record that last had member i.
	seen   []uint64
	record uint64
}

func newMembers(fields []*schema.Node, builder func(int) array.Builder, path string, s *readState) *members {
	m := &members{path: path, index: map[string]int{}, seen: make([]uint64, len(fields)), state: s}
	for i, f := range fields {
		m.names, m.keys = append(m.names, f.Name), append(m.keys, plainKey(f.Name))
		m.columns = append(m.columns, newColumn(f, path+f.Name, builder(i), s))
		for _, alias := range f.Aliases {
			m.index[alias] = i
		}
	}
	for i := len(fields) - 1; i >= 0; i-- { // names win over aliases, and the first of equal names wins
		m.index[fields[i].Name] = i
	}
	return m
}

// read appends one object: a value or a null to every column.
func (m *members) read(c *cursor) error {
	m.record++
	if !c.take('{') {
		return c.unexpected("an object")
	}
	next, count := 0, 0
	for first := true; !c.take('}'); first = false {
		if !first && !c.take(',') {
			return c.unexpected("',' or '}'")
		}
		i, err := m.member(c, next)
		if err != nil {
			return err
		}
		if i >= 0 {
			next = i + 1
			count++
		}
	}
	if count == len(m.columns) {
		return nil
	}
	for i, col := range m.columns {
		if m.seen[i] != m.record {
			if err := col.null(); err != nil {
				return err
			}
		}
	}
	return nil
}

// member reads a member and gives its column, or −1 if there is none. In most records it is the one after the last.
func (m *members) member(c *cursor, next int) (int, error) {
	var unknown []byte
	i := next
	if next == len(m.keys) || !c.takeText(m.keys[next]) {
		key, err := c.str()
		if err != nil {
			return 0, err
		}
		var ok bool
		if i, ok = m.find(key, next); !ok {
			i, unknown = -1, key
		}
	}
	if !c.take(':') {
		return 0, c.unexpected("':'")
	}
	if i < 0 {
		return -1, m.skip(unknown, c)
	}
	if m.seen[i] == m.record {
		return 0, inField(m.path+m.names[i], "occurs twice in the object")
	}
	m.seen[i] = m.record
	return i, element(m.columns[i], c)
}

// plainKey is a name between quotes, if no character of it is escaped.
func plainKey(name string) string {
	for i := range len(name) {
		if name[i] < 0x20 || name[i] == '"' || name[i] == '\\' {
			return ""
		}
	}
	return `"` + name + `"`
}

// find looks a member up; in most records it is the one after the last.
func (m *members) find(key []byte, next int) (int, bool) {
	if next < len(m.names) && m.names[next] == string(key) {
		return next, true
	}
	i, ok := m.index[string(key)]
	return i, ok
}

func (m *members) skip(key []byte, c *cursor) error {
	if m.state.unknown != DropUnknown {
		return &fieldError{path: m.path + string(key), err: errUnknownField, unknown: true}
	}
	return c.skip(0)
}

// structColumn holds JSON objects with known members.
type structColumn struct {
	nullable
	sb      *array.StructBuilder
	members *members
}

func newStructColumn(base nullable, s *readState) *structColumn {
	sb := base.b.(*array.StructBuilder)
	return &structColumn{base, sb, newMembers(base.n.Children, sb.FieldBuilder, base.path+".", s)}
}

func (c *structColumn) value(cur *cursor) error {
	if cur.peek() != '{' {
		return c.mismatch(cur)
	}
	c.sb.Append(true)
	return c.members.read(cur)
}

// mapColumn holds arrays of {"key", "value"}, or objects where the keys are strings.
type mapColumn struct {
	nullable
	mb    *array.MapBuilder
	entry *members
	item  column
}

func newMapColumn(base nullable, s *readState) *mapColumn {
	mb := base.b.(*array.MapBuilder)
	key, value := *base.n.Children[0], *base.n.Children[1]
	key.Name, value.Name = "key", "value"
	key.Aliases, value.Aliases = nil, nil
	key.Nullable = false // Arrow's maps have no null keys
	builders := []array.Builder{mb.KeyBuilder(), mb.ItemBuilder()}
	entry := newMembers([]*schema.Node{&key, &value}, func(i int) array.Builder { return builders[i] }, base.path+".", s)
	return &mapColumn{base, mb, entry, entry.columns[1]}
}

func (c *mapColumn) value(cur *cursor) error {
	switch {
	case cur.peek() == '[':
		c.mb.Append(true)
		return cur.array(func() error {
			if cur.peek() != '{' {
				return inField(c.path, `%s where {"key": …, "value": …} was expected`, cur.what())
			}
			return c.entry.read(cur)
		})
	case cur.peek() == '{' && c.n.Children[0].Basic == schema.String:
		c.mb.Append(true)
		keys := c.mb.KeyBuilder().(*array.LargeStringBuilder)
		return cur.object(func(key []byte) error {
			keys.BinaryBuilder.Append(key)
			return element(c.item, cur)
		})
	}
	return c.mismatch(cur)
}
