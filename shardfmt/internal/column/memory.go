package column

import (
	"slices"
	"sync"
)

// Memory is what the encoders of a stripe leave to those of the next one: the codes of value dictionaries, four bytes a row, which would else be
// made space for by doubling, in pages that the system has to clear. It holds no more than one stripe had. A nil Memory keeps nothing. For concurrent use.
type Memory struct {
	mu    sync.Mutex
	codes [][]uint32
}

// take gives space for codes, the largest there is, or none.
func (m *Memory) take() []uint32 {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.codes) == 0 {
		return nil
	}
	last := m.codes[len(m.codes)-1]
	m.codes = m.codes[:len(m.codes)-1]
	return last[:0]
}

// give takes space for codes that nobody looks at from now on.
func (m *Memory) give(codes []uint32) {
	if m == nil || cap(codes) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, _ := slices.BinarySearchFunc(m.codes, cap(codes), func(c []uint32, n int) int { return cap(c) - n })
	m.codes = slices.Insert(m.codes, at, codes)
}
