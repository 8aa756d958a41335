package shardfmt

import "github.com/shardcat/shardcat/shardfmt/internal/encode"

// Profile determines how much work goes into making a block small. The zero value is Balanced.
type Profile uint8

// The profiles, by the names of the reference implementation.
const (
	// Balanced tries every encoding but Zstd, nested up to four deep.
	Balanced = Profile(encode.Balanced)
	// Plain writes values as they are.
	Plain = Profile(encode.Plain)
	// MinimalCompression takes the first cheap encoding that helps, at most one nested stream, else LZ4.
	MinimalCompression = Profile(encode.MinimalCompression)
	// HighCompression is Balanced with Zstd.
	HighCompression = Profile(encode.HighCompression)
	// MinimalSize tries everything, everywhere, at the compressors' best levels and in larger byte blocks.
	MinimalSize = Profile(encode.MinimalSize)
)

// String gives the name that Set reads.
func (p Profile) String() string { return encode.Profile(p).String() }

// Set reads the name of a profile, as a flag does; the empty string is Balanced.
func (p *Profile) Set(name string) error {
	of, err := encode.ParseProfile(name)
	*p = Profile(of)
	return err
}
