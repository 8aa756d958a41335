package block

import "github.com/shardcat/shardcat/shardfmt/internal/simd"

// MayHold is false if certainly none of the byte strings of sub, which have fixed bytes each or, with 0, any number, is the needle.
// Nothing is decoded for that; what is wrong with sub is for who decodes it.
func MayHold(sub []byte, fixed int, needle *simd.Needle, s *Scratch) bool {
	if code, err := bytesCodeOf(sub); err != nil || code != Fsst {
		return true
	}
	f := s.fsstOf()
	return f.parse(sub, fixed) != nil || f.table.MayHold(f.stream, needle)
}
