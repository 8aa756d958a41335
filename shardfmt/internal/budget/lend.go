package budget

import (
	"sync"
	"unsafe"

	"github.com/shardcat/shardcat/internal/bufpool"

	"github.com/shardcat/shardcat/internal/view"
)

// lender has memory of batches that is used again for later ones.
type lender struct {
	mu         sync.Mutex
	reuse      bool
	lent, free [][]byte
	stays      [][]byte // see LendToEnd
	giving     Giving   // of Give, to be used again
}

// Reuse has memory that Lend gives from now on used again after the next NextBatch: nobody may look at the batch then any more, but
// for what was passed on, see Give.
func (a *Account) Reuse() {
	if a != nil {
		a.lender.reuse = true
	}
}

// Lend gives n bytes for values of the current batch, aligned to eight bytes. They are not charged, see Take, and what they
// hold is anything: the caller fills all of them.
func (a *Account) Lend(n uint64) []byte {
	if a == nil || !a.lender.reuse || n == 0 {
		return bufpool.Bytes(int(n))
	}
	l := &a.lender
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.take(n)
	l.lent = append(l.lent, b)
	return b[:n]
}

// LendOf is Lend for n values.
func LendOf[T any](a *Account, n uint64) []T {
	return valuesIn[T](a.Lend(bytesOf[T](n)), n)
}

// LendToEnd gives n bytes for what a reader keeps from batch to batch, and nobody else looks at: Settle takes them back. They are not
// charged, see Hold, and what they hold is anything.
func (a *Account) LendToEnd(n uint64) []byte {
	if a == nil {
		return bufpool.Bytes(int(n))
	}
	b := bufpool.Again(int(n))
	l := &a.lender
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stays = append(l.stays, b)
	return b
}

// ToEndOf is LendToEnd for n values.
func ToEndOf[T any](a *Account, n uint64) []T {
	return valuesIn[T](a.LendToEnd(bytesOf[T](n)), n)
}

// bytesOf is how many bytes n values have.
func bytesOf[T any](n uint64) uint64 {
	var zero T
	return n * uint64(unsafe.Sizeof(zero))
}

// valuesIn is the memory of n values.
func valuesIn[T any](b []byte, n uint64) []T {
	return view.Of[T](b, int(n))
}

// take gives the smallest free memory of n bytes, or new memory.
func (l *lender) take(n uint64) []byte {
	best := -1
	for i, b := range l.free {
		if uint64(cap(b)) >= n && (best < 0 || cap(b) < cap(l.free[best])) {
			best = i
		}
	}
	if best < 0 {
		return bufpool.Again(int(n))
	}
	b := l.free[best]
	last := len(l.free) - 1
	l.free[best] = l.free[last]
	l.free = l.free[:last]
	return b
}

// takeBack takes what was lent back. Memory that the batch before had no use for is given back, so that no more is kept than
// the largest batch had.
func (l *lender) takeBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lent != nil {
		l.giveBack(l.free)
		l.free, l.lent = l.lent, l.free[:0]
	}
}

// giveBack gives memory to the caller next, in this scan or another.
func (l *lender) giveBack(list [][]byte) {
	for _, b := range list {
		bufpool.GiveBack(b)
	}
	clear(list)
}

// Settle gives back all that was lent for use again: nobody may look at a batch of the account any more. Without it the memory is
// left to the collector when the account is.
func (a *Account) Settle() {
	if a == nil {
		return
	}
	l := &a.lender
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveBack(l.free)
	l.giveBack(l.lent)
	l.giveBack(l.stays)
	l.free, l.lent, l.stays = nil, nil, nil
}
