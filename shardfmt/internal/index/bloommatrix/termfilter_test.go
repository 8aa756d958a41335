package bloommatrix

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func hashes(r *rand.Rand, n int) (out []uint64) {
	for range n {
		out = append(out, r.Uint64())
	}
	return out
}

// holds reports what a matrix states about a hash, by the one row that it needs.
func holds(t *testing.T, m Matrix, data []byte, column int, h uint64) bool {
	t.Helper()
	row := m.Row(h)
	start, end := m.RowRange(row)
	blocks := m.Blocks(row, data[start:end])
	if blocks == nil {
		t.Fatalf("row %d does not hold", row)
	}
	return Has(Block(blocks, column), h)
}

// No column loses a hash, however unlike the sizes of those beside it, and few let others pass; taken apart and joined
// again they are the same.
func TestMatrixKeepsHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sets := [][]uint64{hashes(r, 3), nil, hashes(r, 20_000), hashes(r, 700), hashes(r, 1)}
	var columns []Column
	for _, s := range sets {
		columns = append(columns, NewColumn(s))
	}
	m, data := Join(7, columns)
	if !m.Valid() || m.Size() != int64(len(data)) || m.Columns != len(sets) {
		t.Fatalf("%+v of %d bytes", m, len(data))
	}
	for pass := range 2 {
		for i, s := range sets {
			for _, h := range s {
				if !holds(t, m, data, i, h) {
					t.Fatalf("pass %d: column %d lost a hash", pass, i)
				}
			}
			passed := 0
			for _, h := range hashes(r, 4000) {
				if holds(t, m, data, i, h) {
					passed++
				}
			}
			if passed > 60 {
				t.Errorf("column %d of %d hashes lets %d of 4000 others pass", i, len(s), passed)
			}
		}
		split, err := m.Split(data)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range split[:len(sets)] {
			if !slices.Equal(c, columns[i]) && len(sets[i]) > 1 {
				t.Errorf("column %d has %d rows, it had %d", i, c.rows(), columns[i].rows())
			}
		}
		m, data = Join(8, append(split, NewColumn(sets[2][:9])))
	}
}

// A bit that flips anywhere is seen, and so is a row in the place of another, or of another matrix.
func TestMatrixFlips(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m, data := Join(9, []Column{NewColumn(hashes(r, 100)), NewColumn(hashes(r, 10))})
	if err := m.Check(data); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] ^= 4
		if m.Check(data) == nil {
			t.Fatalf("byte %d", i)
		}
		if row := (i - headerSize) / m.stride(); i >= headerSize {
			start, end := m.RowRange(row)
			if m.Blocks(row, data[start:end]) != nil {
				t.Fatalf("byte %d of row %d", i, row)
			}
		}
		data[i] ^= 4
	}
	start, end := m.RowRange(1)
	other := m
	other.ID++
	if m.Blocks(0, data[start:end]) != nil || other.Blocks(1, data[start:end]) != nil || m.Blocks(1, data[start:end-1]) != nil {
		t.Error("a row of another place was taken")
	}
	for _, bad := range []Matrix{{}, {Rows: 3, Columns: 1}, {Rows: 2 * maxRows, Columns: 1}, {Rows: 1, Columns: MaxColumns + 1}, {Rows: maxRows, Columns: 64}} {
		if bad.Valid() {
			t.Errorf("%+v", bad)
		}
		if _, err := bad.Split(data); err == nil {
			t.Errorf("%+v was split", bad)
		}
	}
}

// All spellings of a term have one key.
func TestTermKey(t *testing.T) {
	var room []byte
	key := func(s string) (k uint64) {
		k, room = TermKey([]byte(s), room)
		return k
	}
	for _, same := range [][]string{{"kelvin", "KELVIN", "\u212Aelvin"}, {"straße", "STRAẞE", "ſtraße"}, {"ÅNGSTRÖM", "\u212Bngström"}} {
		for _, s := range same[1:] {
			if key(s) != key(same[0]) {
				t.Errorf("%s and %s", s, same[0])
			}
		}
	}
	if key("a") == key("b") {
		t.Error("a and b")
	}
}
