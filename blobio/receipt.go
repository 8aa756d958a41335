package blobio

import (
	"crypto/md5"
	"sync/atomic"
)

// Receipt is what a store states about the object that it made of one request: the MD5 of the content, which the store has computed of the bytes that
// it got. One that is the MD5 of the bytes in memory proves that they arrived, as reading them back does. Safe for concurrent use.
type Receipt struct {
	sum atomic.Pointer[[md5.Size]byte]
}

// Took notes the MD5 of the content that the store states it has.
func (r *Receipt) Took(sum [md5.Size]byte) {
	if r != nil {
		r.sum.Store(&sum)
	}
}

// proves reports whether the store has reported that it has this content.
func (r *Receipt) proves(data []byte) bool {
	sum := r.sum.Load()
	return sum != nil && *sum == md5.Sum(data)
}
