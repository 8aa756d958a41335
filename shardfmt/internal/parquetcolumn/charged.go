package parquetcolumn

import "github.com/shardcat/shardcat/shardfmt/internal/budget"

// charged charges an account, and knows what it holds of it. A nil one charges nothing.
type charged struct {
	account *budget.Account
	held    uint64
}

// take charges n bytes of an array.
func (m *charged) take(n uint64) error {
	if m == nil {
		return nil
	}
	return m.account.Take(n)
}

// hold charges n bytes that outlast the array.
func (m *charged) hold(n uint64) error {
	if m == nil {
		return nil
	}
	err := m.account.Hold(n)
	if err == nil {
		m.held += n
	}
	return err
}
