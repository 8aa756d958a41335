package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
)

// state is what of a table's schemas the bytes of its files depend on, as it was at one time.
type state struct {
	// layout is the folder of names: Layout, and a code of the state where there is something that may change.
	layout string
	// schemas that the table had, by their ids.
	schemas []*iceberg.Schema
	// adopted: shards that know no field ids are part of the table, so names of columns decide which columns their files have.
	adopted bool
}

// stateOf is the state of a table that had these schemas.
func stateOf(schemas []*iceberg.Schema, adopted bool) state {
	s := state{Layout, slices.Clone(schemas), adopted}
	slices.SortFunc(s.schemas, func(a, b *iceberg.Schema) int { return cmp.Compare(a.ID, b.ID) })
	if code := s.code(); code != "" {
		s.layout += "-" + code
	}
	return s
}

// in finds the state that the table had when objects of a layout were named; false if it had none, or is not known any more.
func (s *state) in(layout string) (state, bool) {
	for n := len(s.schemas); n > 0; n-- {
		for _, adopted := range []bool{s.adopted, false} { // the first shard may have been adopted since
			if before := stateOf(s.schemas[:n], adopted); before.layout == layout {
				return before, true
			}
		}
	}
	return state{}, false
}

// last is the id of the last schema.
func (s *state) last() int { return s.schemas[len(s.schemas)-1].ID }

// code tells states apart in which files have other bytes: by the decimals, which can be widened, and for adopted shards by the names of
// columns. Without any of them it is "", so that no other change of a schema renames a file.
func (s *state) code() string {
	h := sha256.New()
	if some := s.hashDecimals(h); !some && !s.adopted {
		return ""
	}
	if s.adopted {
		s.hashNames(h)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (s *state) hashDecimals(h hash.Hash) (some bool) {
	ids := map[int]bool{}
	for _, schema := range s.schemas {
		for _, id := range schema.FieldIDs() {
			if typ, _ := schema.FindTypeByID(id); isDecimal(typ) {
				ids[id] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		fmt.Fprint(h, id, " ", typeOf(s.schemas, id), ";")
	}
	return len(ids) > 0
}

func isDecimal(typ iceberg.Type) bool {
	_, ok := typ.(iceberg.DecimalType)
	return ok
}

func (s *state) hashNames(h hash.Hash) {
	names := map[string]bool{}
	for _, schema := range s.schemas {
		for _, id := range schema.FieldIDs() {
			name, _ := schema.FindColumnName(id)
			names[fmt.Sprintf("%q %d;", name, id)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprint(h, name)
	}
}

// typeOf is the type of a column for which a file needs the table's, as text: of decimals the widest that it has had, for shards that were written
// since it was widened have values of as many digits. Numbers that the shard itself has a type for are "".
func typeOf(schemas []*iceberg.Schema, id int) string {
	var widest iceberg.DecimalType
	for _, s := range schemas {
		typ, ok := s.FindTypeByID(id)
		if !ok {
			continue
		}
		switch typ := typ.(type) {
		case iceberg.Int32Type, iceberg.Int64Type, iceberg.Float32Type, iceberg.Float64Type:
			return ""
		case iceberg.DecimalType:
			if typ.Precision() > widest.Precision() {
				widest = typ
			}
		default:
			return typ.String()
		}
	}
	if widest.Precision() == 0 {
		return ""
	}
	return widest.String()
}
