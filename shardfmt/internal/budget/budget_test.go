package budget

import (
	"errors"
	"testing"
)

// Memory is charged across accounts, a batch has its share, and all comes back.
func TestMemory(t *testing.T) {
	b := New(1000)
	x, y := b.Account(), b.Account()
	if err := x.Take(251); !errors.Is(err, ErrBatch) {
		t.Errorf("more than a quarter: %v", err)
	}
	x.NextBatch(true)
	if err := x.Take(500); err != nil {
		t.Errorf("one row: %v", err)
	}
	if err := y.Hold(501); !errors.Is(err, ErrExceeded) {
		t.Errorf("beyond what the other leaves: %v", err)
	}
	if err := y.Hold(450); err != nil {
		t.Error(err)
	}
	if err := y.Take(100); !errors.Is(err, ErrBatch) {
		t.Errorf("a batch beyond what is left: %v", err)
	}
	x.NextBatch(false)
	y.Drop(450)
	if err := y.Hold(1000); err != nil {
		t.Errorf("after all came back: %v", err)
	}
	y.Close()
	x.Close()
	if b.used != 0 {
		t.Errorf("%d bytes are still charged", b.used)
	}
}

// Decoding must stay in proportion to what was read, also where sums overflow.
func TestDecoded(t *testing.T) {
	a := New(1000).Account()
	a.Fetched(1)
	if err := a.Work(1000 + decodedPerByte); err != nil {
		t.Error(err)
	}
	if err := a.Work(1); !errors.Is(err, errWork) {
		t.Errorf("one byte too much: %v", err)
	}
	a.Fetched(1 << 63)
	if err := a.Work(1 << 61); err != nil {
		t.Errorf("after 2^63 bytes: %v", err)
	}
	if err := a.Work(1<<64 - 1); !errors.Is(err, errWork) {
		t.Errorf("an overflow: %v", err)
	}
}

// What arrays are made must stay in proportion to what was read, decoded and delivered.
func TestMade(t *testing.T) {
	a := New(4000).Account()
	take := func(n int) error {
		for ; n > 0; n -= 1000 {
			a.NextBatch(false)
			if err := a.Take(uint64(min(n, 1000))); err != nil {
				return err
			}
		}
		return nil
	}
	a.Fetched(10)
	a.Delivered(10)
	if err := a.Work(10); err != nil {
		t.Error(err)
	}
	if err := take(4000 + 10*(madePerByte+madePerValue+madePerDecoded)); err != nil {
		t.Error(err)
	}
	if err := take(1); !errors.Is(err, errWork) {
		t.Errorf("one byte too much: %v", err)
	}
}

// Without an account nothing is charged.
func TestNoAccount(t *testing.T) {
	var a *Account
	a.NextBatch(true)
	a.Drop(1)
	a.Fetched(1)
	a.Close()
	if a.Take(1<<63) != nil || a.Hold(1<<63) != nil || a.Work(1<<63) != nil {
		t.Error("charged")
	}
}
