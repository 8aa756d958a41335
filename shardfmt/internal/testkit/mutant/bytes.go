package mutant

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// object chooses an object with at least least bytes.
func object(r *rand.Rand, s *Shard, least int) (string, []byte, error) {
	names := s.names()
	name := names[r.IntN(len(names))]
	if b := s.Objects[name]; len(b) >= least {
		return name, b, nil
	}
	return "", nil, errNothing
}

// flip changes one to three bits.
func flip(r *rand.Rand, s *Shard, _ []*Shard) (*Shard, string, error) {
	name, b, err := object(r, s, 1)
	if err != nil {
		return nil, "", err
	}
	b = bytes.Clone(b)
	var at []int
	for range 1 + r.IntN(3) {
		i := r.IntN(len(b))
		b[i] ^= 1 << r.IntN(8)
		at = append(at, i)
	}
	if bytes.Equal(b, s.Objects[name]) {
		return nil, "", errNothing
	}
	return s.with(name, b), fmt.Sprintf("%s: bits at %v", name, at), nil
}

// cut takes bytes off the end, or out of the middle.
func cut(r *rand.Rand, s *Shard, _ []*Shard) (*Shard, string, error) {
	name, b, err := object(r, s, 2)
	if err != nil {
		return nil, "", err
	}
	start := r.IntN(len(b) - 1)
	end := len(b)
	if r.IntN(2) == 0 {
		end = start + 1 + r.IntN(min(64, len(b)-start))
	}
	return s.with(name, append(bytes.Clone(b[:start]), b[end:]...)), fmt.Sprintf("%s: without [%d, %d)", name, start, end), nil
}

// swap exchanges two pieces of one object.
func swap(r *rand.Rand, s *Shard, _ []*Shard) (*Shard, string, error) {
	name, b, err := object(r, s, 256)
	if err != nil {
		return nil, "", err
	}
	n := 1 + r.IntN(64)
	at, to := r.IntN(len(b)-n), r.IntN(len(b)-n)
	out := bytes.Clone(b)
	copy(out[at:], b[to:to+n])
	copy(out[to:], b[at:at+n])
	if bytes.Equal(out, b) || at < to && to < at+n || to < at && at < to+n {
		return nil, "", errNothing
	}
	return s.with(name, out), fmt.Sprintf("%s: %d bytes at %d and %d", name, n, at, to), nil
}

// exchange puts an object of another shard in the place of one, or of another stripe of the same shard.
func exchange(r *rand.Rand, s *Shard, others []*Shard) (*Shard, string, error) {
	names := s.names()
	name := names[r.IntN(len(names))]
	if name == RootName {
		return nil, "", errNothing
	}
	from := s
	if r.IntN(3) > 0 {
		from = others[r.IntN(len(others))]
	}
	sources := from.names()
	source := sources[r.IntN(len(sources))]
	if !strings.HasSuffix(source, ".stripe") || bytes.Equal(from.Objects[source], s.Objects[name]) {
		return nil, "", errNothing
	}
	return s.with(name, from.Objects[source]), fmt.Sprintf("%s is %s of %s", name, source, from.Name), nil
}
