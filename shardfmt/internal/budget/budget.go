// Package budget bounds what reading may cost, whatever the bytes that are read claim.
//
// A Budget belongs to one scan, over however many shards. Memory is charged before it is taken: what is held from
// batch to batch (fetched bytes, blocks kept), and what the current batch takes. Work is charged too, and must stay in
// proportion:
//
//	bytes of values decoded from blocks, or walked over   ≤ memory limit + 32,768 × bytes fetched
//	bytes of arrays made of them                          ≤ memory limit + 512 × bytes fetched
//	                                                        + 512 × values delivered + 128 × bytes decoded
//	comparisons of values with the literals of a filter   ≤ 64 × memory limit + 4,096 × bytes fetched
//
// 32,768 is what the densest block of known writers reaches: 65,536 values of eight bytes in sixteen. 512 is more than
// a value usually has, and than compression usually gains. A file of a few bytes that stands for days of decoding, or
// for a thousand times the memory there is, ends in ErrExceeded; a larger limit allows more of both.
package budget

import (
	"errors"
	"fmt"
	"sync"
)

const (
	// Default is the memory limit of a scan, in bytes.
	Default = 1 << 30
	// decodedPerByte are the bytes of values that may be decoded for each byte fetched; madePerByte, madePerValue
	// and madePerDecoded the bytes of arrays that may be made for each byte fetched, value delivered, byte decoded.
	decodedPerByte                            = 32 << 10
	madePerByte, madePerValue, madePerDecoded = 512, 512, 128
	// comparedFree are the comparisons for each byte of memory, comparedPerByte those for each byte fetched.
	comparedFree, comparedPerByte = 64, 4096
)

var (
	// ErrExceeded is a scan that would cost more than its budget.
	ErrExceeded = errors.New("the budget of the scan is exceeded")
	// ErrBatch is a batch that does not fit; one of fewer rows may.
	ErrBatch = fmt.Errorf("%w: more memory than allowed for a batch", ErrExceeded)
	// errWork is work out of proportion to what was read.
	errWork = fmt.Errorf("%w: more work than allowed for the bytes read", ErrExceeded)
)

// Budget of a scan. Safe for concurrent use.
type Budget struct {
	limit uint64

	mu            sync.Mutex
	used, peak    uint64 // by all accounts, now and at most
	decoded, made meter
	compared      meter
}

// meter is work so far, and how much there may be.
type meter struct{ work, allowed uint64 }

// charge adds work.
func (m *meter) charge(n uint64) error {
	if m.work += n; m.work > m.allowed || m.work < n {
		return errWork
	}
	return nil
}

// allow allows n times each more.
func (m *meter) allow(n, each uint64) {
	const never = 1 << 62
	m.allowed = min(never, m.allowed+min(n, never/each)*each)
}

// New makes a budget of limit bytes of memory, Default if 0.
func New(limit int64) *Budget {
	if limit <= 0 {
		limit = Default
	}
	least := meter{allowed: uint64(limit)}
	b := &Budget{limit: uint64(limit), decoded: least, made: least}
	b.compared.allow(uint64(limit), comparedFree)
	return b
}

// Limit is the most bytes of memory.
func (b *Budget) Limit() uint64 { return b.limit }

// use notes n bytes more that are in use.
func (b *Budget) use(n uint64) {
	b.used += n
	b.peak = max(b.peak, b.used)
}

// Peak is the most bytes of memory that were in use at any time.
func (b *Budget) Peak() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peak
}

// Decoded is the work so far: bytes of values that were decoded, or walked over.
func (b *Budget) Decoded() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.decoded.work
}

// Account is one reader's part of a Budget: the memory that it uses now. A nil Account charges nothing. Its columns
// may charge at the same time.
type Account struct {
	budget            *Budget
	held, batch, most uint64 // under budget.mu; most is that of batch
	lender            lender
}

// Account opens an account, to be closed when its reader has ended.
func (b *Budget) Account() *Account { return &Account{budget: b, most: b.limit / 4} }

// NextBatch gives back the memory of the last batch. One of several rows gets a quarter of the budget at most, so that
// there is space for what becomes of it; one of a single row half.
func (a *Account) NextBatch(single bool) {
	if a == nil {
		return
	}
	a.lender.takeBack()
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.used -= a.batch
	a.batch, a.most = 0, a.budget.limit/4
	if single {
		a.most = a.budget.limit / 2
	}
}

// Take charges n bytes of the current batch, and the work of filling them.
func (a *Account) Take(n uint64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > a.most-a.batch || n > b.limit-b.used {
		return ErrBatch
	}
	a.batch += n
	b.use(n)
	return b.made.charge(n)
}

// Hold charges n bytes that outlast the batch; Drop gives them back.
func (a *Account) Hold(n uint64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.used {
		return fmt.Errorf("%w: %d bytes requested, of %d bytes %d are in use", ErrExceeded, n, b.limit, b.used)
	}
	a.held += n
	b.use(n)
	return nil
}

// Drop gives back what was held.
func (a *Account) Drop(n uint64) {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.held -= n
	a.budget.used -= n
}

// Work charges bytes of values that are decoded, or walked over.
func (a *Account) Work(n uint64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made.allow(n, madePerDecoded)
	return b.decoded.charge(n)
}

// Compare charges comparisons of values with literals.
func (a *Account) Compare(n uint64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.compared.charge(n)
}

// Fetched counts bytes that were read, which allow work.
func (a *Account) Fetched(bytes uint64) {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.decoded.allow(bytes, decodedPerByte)
	b.made.allow(bytes, madePerByte)
	b.compared.allow(bytes, comparedPerByte)
}

// Delivered counts values that came out, which allow work.
func (a *Account) Delivered(values uint64) {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.made.allow(values, madePerValue)
}

// Close gives back all that the account uses.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.used -= a.held + a.batch
	a.held, a.batch = 0, 0
}
