package bench

import "fmt"

// Contestant is one way to read or write a column.
type Contestant struct {
	Name string
	// Note is what there is to know, as the tree of encodings.
	Note string
	// Size is the bytes stored, 0 for none.
	Size int
	// Open makes a worker's own state, and gives the function that reads (or writes) the column once.
	Open func() (func() error, error)
}

// Memcpy copies the values into a fresh slice, or into the same one again.
func Memcpy(c *Column, fresh bool) Contestant {
	name := "memcpy"
	if fresh {
		name = "memcpy, fresh slice"
	}
	return Contestant{Name: name, Open: func() (func() error, error) {
		switch {
		case c.Ints != nil:
			return copier(c.Ints, fresh), nil
		case c.Floats != nil:
			return copier(c.Floats, fresh), nil
		}
		var all []byte
		for _, s := range c.Strings {
			all = append(all, s...)
		}
		return copier(all, fresh), nil
	}}
}

func copier[T any](src []T, fresh bool) func() error {
	dst := make([]T, len(src))
	return func() error {
		if fresh {
			dst = make([]T, len(src))
		}
		copy(dst, src)
		return nil
	}
}

// verify compares what a contestant read with the column, once, before it is measured.
func verify[T comparable](name string, got, want []T) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d values, want %d", name, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("%s: value %d is %v, want %v", name, i, got[i], want[i])
		}
	}
	return nil
}

// batch is how many values the peers read at a time; our blocks have 2048 to 8192, some more.
const batch = 8192

// scan gives the function that reads a column batch by batch, after it has read it once and compared.
// read calls see with every batch.
func scan[T comparable](name string, want []T, read func(see func([]T)) error) (func() error, error) {
	var got []T
	if err := read(func(b []T) { got = append(got, b...) }); err != nil {
		return nil, err
	}
	return func() error { return read(func([]T) {}) }, verify(name, got, want)
}
