package mutant

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Mutant is a changed shard.
type Mutant struct {
	*Shard
	// Kind is the kind of change, What reports what was changed.
	Kind, What string
	// Corrected: every checksum is right for the changed bytes, so that rows may change and nothing be amiss.
	Mended bool
}

// kind is a way to change a shard.
type kind struct {
	name   string
	mended bool
	weight int
	make   func(r *rand.Rand, s *Shard, others []*Shard) (*Shard, string, error)
}

// mendedKinds keep checksums right: these are where readers are wrong, and so more of them are made.
var mendedKinds = []kind{
	{"message", true, 10, onGraft((*graft).message)},
	{"schema", true, 3, onGraft((*graft).schema)},
	{"promise", true, 2, onGraft((*graft).promise)},
	{"form", true, 3, onGraft((*graft).form)},
	{"block", true, 4, onBuffer(changeBlock)},
	{"map", true, 3, onBuffer(changeMap)},
	{"values", true, 6, onBuffer(changeValues)},
	{"dictionary", true, 3, onBuffer(changeDictionary)},
	{"range index", true, 3, onBuffer(changeRangeIndex)},
}

// kinds of mutants.
var kinds = append([]kind{
	{"flip", false, 2, flip},
	{"cut", false, 1, cut},
	{"swap", false, 1, swap},
	{"exchange", false, 4, exchange},
	{KindArtifact, true, 4, changeArtifact},
}, mendedKinds...)

// errNothing is a shard that has nothing a kind of mutation could change.
var errNothing = errors.New("nothing there to change")

// Kinds are the names of the kinds.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

// pick chooses one of some kinds by its weight.
func pick(r *rand.Rand, kinds []kind) kind {
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	n := r.IntN(sum)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			return k
		}
	}
	return kinds[0]
}

// tries is how many kinds are tried for one mutant: not every shard has a dictionary. After them only flips are tried, which every shard allows.
const tries = 50

// New changes a shard, which must be whole; others lend their objects.
func New(r *rand.Rand, s *Shard, others []*Shard) (*Mutant, error) {
	for i := range 2 * tries {
		k := kinds[0] // flip
		if i < tries {
			k = pick(r, kinds)
		}
		changed, what, err := k.make(r, s, others)
		if errors.Is(err, errNothing) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", k.name, s.Name, err)
		}
		return &Mutant{Shard: changed, Kind: k.name, What: what, Mended: k.mended}, nil
	}
	return nil, fmt.Errorf("%s: %w", s.Name, errNothing)
}
