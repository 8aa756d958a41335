package keyindex

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// ID names rows, see manifest.RowsID.
type ID = [16]byte

// State lists the rows that the levels of a key index cover. What it does not name it does not cover.
type State struct {
	// Table is the table's UUID, Key the columns of the key with their types and field ids, as text.
	Table string `json:"table"`
	Key   string `json:"key"`
	// Levels are layer files; Units the stripes whose keys are in them; Shards the shards that consist of those.
	Levels []Level `json:"levels"`
	Units  []Unit  `json:"units"`
	Shards []Shard `json:"shards"`

	levelOf map[uint32]int
	unitOf  map[ID]uint32
	shardOf map[ID][]uint32
}

// Level is a layer file.
type Level struct {
	// Object is relative to the table's vault folder.
	Object string `json:"object"`
	// Name is random; the file states the same.
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	Size int64  `json:"size"`
}

// Unit is a stripe.
type Unit struct {
	Number uint32 `json:"n"`
	ID     []byte `json:"id"`
	// Level is the place of its level among those of the state; Rows are its records.
	Level int   `json:"level"`
	Rows  int64 `json:"rows"`
}

// Shard is a shard by the name of its rows, and its stripes in their order.
type Shard struct {
	ID    []byte   `json:"id"`
	Units []uint32 `json:"units"`
}

const stateMagic = "shardcat-keys-1 "

// MaxState bounds the bytes of a state: some 500,000 shards.
const MaxState = 64 << 20

// Encode is the object that Decode reads.
func (s *State) Encode() ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "%s%016x\n", stateMagic, xxh3.Hash(text)), text...), nil
}

// Decode reads a state and checks that all it names is there.
func Decode(b []byte) (*State, error) {
	const head = len(stateMagic) + 17
	if len(b) < head || string(b[:len(stateMagic)]) != stateMagic {
		return nil, corrupt.At(0, "not the state of a key index, or of a later version")
	}
	if want := fmt.Sprintf("%016x\n", xxh3.Hash(b[head:])); string(b[len(stateMagic):head]) != want {
		return nil, corrupt.At(int64(len(stateMagic)), "key index: checksum mismatch")
	}
	s := &State{}
	d := json.NewDecoder(bytes.NewReader(b[head:]))
	if err := d.Decode(s); err != nil {
		return nil, corrupt.At(int64(head), "the state of a key index: %s", err)
	}
	return s, s.index()
}

// index prepares the questions to a state.
func (s *State) index() error {
	s.levelOf, s.unitOf, s.shardOf = make(map[uint32]int, len(s.Units)), make(map[ID]uint32, len(s.Units)), make(map[ID][]uint32, len(s.Shards))
	for i := range s.Units {
		u := &s.Units[i]
		_, twice := s.levelOf[u.Number]
		if twice || len(u.ID) != len(ID{}) || u.Level < 0 || u.Level >= len(s.Levels) {
			return corrupt.At(-1, "stripe %d of a key index", u.Number)
		}
		s.levelOf[u.Number], s.unitOf[ID(u.ID)] = u.Level, u.Number
	}
	for i := range s.Shards {
		x := &s.Shards[i]
		if len(x.ID) != len(ID{}) {
			return corrupt.At(-1, "shard %d of a key index", i)
		}
		for _, u := range x.Units {
			if _, known := s.levelOf[u]; !known {
				return corrupt.At(-1, "shard %d of a key index has an unknown stripe %d", i, u)
			}
		}
		s.shardOf[ID(x.ID)] = x.Units
	}
	return nil
}

// Covers gives the stripes of a shard by the name of its rows; ok is false if the index does not cover it.
func (s *State) Covers(shard ID) (units []uint32, ok bool) {
	units, ok = s.shardOf[shard]
	return units, ok
}

// Unit gives the number of a stripe by the name of its rows.
func (s *State) Unit(stripe ID) (number uint32, ok bool) {
	number, ok = s.unitOf[stripe]
	return number, ok
}

// LevelOf is the level of a stripe that the state has.
func (s *State) LevelOf(unit uint32) int { return s.levelOf[unit] }
