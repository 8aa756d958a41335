package encode

import "fmt"

// Profile determines how much work goes into making a block small. The zero value is Balanced.
type Profile uint8

// The profiles, by the names of the reference implementation.
const (
	// Balanced tries every encoding but Zstd, nested up to four deep.
	Balanced Profile = iota
	// Plain writes values as they are.
	Plain
	// MinimalCompression takes the first cheap encoding that helps, at most one nested stream, else LZ4.
	MinimalCompression
	// HighCompression is Balanced with Zstd.
	HighCompression
	// MinimalSize tries everything, everywhere, at the compressors' best levels and in larger byte blocks.
	MinimalSize
)

var profileNames = [...]string{
	Balanced:           "balanced",
	Plain:              "plain",
	MinimalCompression: "minimal-compression",
	HighCompression:    "high-compression",
	MinimalSize:        "minimal-size",
}

// String gives the name that ParseProfile reads.
func (p Profile) String() string {
	if int(p) < len(profileNames) {
		return profileNames[p]
	}
	return fmt.Sprintf("profile(%d)", uint8(p))
}

// ParseProfile reads the name of a profile; the empty string is Balanced.
func ParseProfile(name string) (Profile, error) {
	if name == "" {
		return Balanced, nil
	}
	for p, s := range profileNames {
		if s == name {
			return Profile(p), nil
		}
	}
	return 0, fmt.Errorf("unknown encoding profile %q", name)
}

// Options steer an Encoder. The zero value is valid: Balanced, seed 0.
type Options struct {
	// Profile of the blocks.
	Profile Profile
	// Seed of the samples. The same values, profile and seed give the same bytes.
	Seed uint64
	// Tree requests one tree of encodings for every block, as NumbersAs does; empty leaves the choice to the planner.
	Tree string
	// Dictionary, if not nil, has blocks of byte strings compressed by Zstd with it, whatever the profile.
	Dictionary *Dictionary
	// Hint is what is known of the values.
	Hint Hint
	// NoPresence leaves the presence section out of every block (OFFSETS, dictionary codes, bit buffers).
	NoPresence bool
	// Ordered means that numbers which stand for others, codes of a value dictionary, go by value, so that neighbours may be close.
	Ordered bool
	// LongBlocks gives numbers blocks of 8,192 values behind the first eight million: the block map of very many, of which a few are looked up, stays short.
	LongBlocks bool
	// Choice, if not nil, is where the encoder of a small buffer finds what the one before it chose, and leaves what it chose.
	Choice *Choice
}
