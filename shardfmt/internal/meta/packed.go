package meta

import "github.com/shardcat/shardcat/shardfmt/internal/metapb"

// IsPackedMember reports whether a buffer is a member of its parent's packed group; nil is none. (The reference implementation
// gives every range index the number 0.)
func IsPackedMember(b *metapb.EncodedBuffer) bool {
	return b != nil && b.PackedGroupIndex != nil && b.Kind != metapb.BufferKind_RANGE_INDEX
}

// PackedMember gives the place of a field in its parent's packed group, false if its first encoding is not a member of one.
func PackedMember(d *metapb.StripeFieldDescriptor) (index uint32, ok bool) {
	if len(d.GetEncodings()) == 0 {
		return 0, false
	}
	for _, b := range d.Encodings[0].GetNative().GetBuffers() {
		if IsPackedMember(b) {
			return *b.PackedGroupIndex, true
		}
	}
	return 0, false
}
