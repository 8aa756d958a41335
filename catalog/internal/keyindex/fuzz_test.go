package keyindex

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// FuzzState: whatever the text of a state is, its checksum right or wrong, it is refused as corrupt or all that it names is there.
func FuzzState(f *testing.F) {
	id := make([]byte, len(ID{}))
	s := &State{Table: "t", Key: "id", Levels: []Level{{Object: "data/x", Name: "x", Rows: 3, Size: 9}},
		Units: []Unit{{Number: 1, ID: id, Rows: 3}}, Shards: []Shard{{ID: id, Units: []uint32{1}}}}
	intact, err := s.Encode()
	if err != nil {
		f.Fatal(err)
	}
	head := len(stateMagic) + 17
	for _, text := range []string{string(intact[head:]), `{}`, `{"units":[{"level":-1}]}`, `{"levels":[{}],"units":[{"n":1,"level":1}]}`, `null`, `{"shards":[{"units":[7]}]}`, ``} {
		f.Add([]byte(text), true)
	}
	f.Add(intact, false)
	f.Fuzz(func(t *testing.T, b []byte, sum bool) {
		if sum {
			b = append(fmt.Appendf(nil, "%s%016x\n", stateMagic, xxh3.Hash(b)), b...)
		}
		s, err := Decode(b)
		if err != nil {
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("%v", err)
			}
			return
		}
		for _, u := range s.Units {
			if at := s.LevelOf(u.Number); at < 0 || at >= len(s.Levels) {
				t.Errorf("stripe %d is of level %d", u.Number, at)
			}
		}
		for i := range s.Shards {
			units, ok := s.Covers(ID(s.Shards[i].ID))
			if !ok {
				t.Errorf("shard %d is not covered", i)
			}
			for _, u := range units {
				if _, known := s.levelOf[u]; !known {
					t.Errorf("shard %d has the unknown stripe %d", i, u)
				}
			}
		}
	})
}
