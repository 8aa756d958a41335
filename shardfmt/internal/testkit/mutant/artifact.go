package mutant

import (
	"math/rand/v2"
	"strings"
)

// KindArtifact changes an artifact of an index.
const KindArtifact = "index artifact"

// changeArtifact changes one of the shards that an index consists of, whose checksums stay right.
func changeArtifact(r *rand.Rand, s *Shard, _ []*Shard) (*Shard, string, error) {
	var artifacts []string
	for _, name := range s.names() {
		if name != RootName && strings.HasSuffix(name, ".amudai.shard") {
			artifacts = append(artifacts, name)
		}
	}
	if len(artifacts) == 0 {
		return nil, "", errNothing
	}
	name := artifacts[r.IntN(len(artifacts))]
	k := pick(r, mendedKinds)
	changed, what, err := k.make(r, &Shard{Name: name, Objects: map[string][]byte{RootName: s.Objects[name]}}, nil)
	if err != nil {
		return nil, "", err
	}
	return s.with(name, changed.Objects[RootName]), name + ", " + k.name + ": " + what, nil
}
