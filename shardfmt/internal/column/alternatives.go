package column

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// ErrOtherEncoding is what Read answers when the values that were fetched turn out to be damaged and the field is stored in
// another encoding, too: Need requests that one's bytes then, and Read reads it.
var ErrOtherEncoding = errors.New("another encoding of the field must be read")

// Choice determines how to choose among the encodings of a field.
type Choice struct {
	// Only is the number of the one encoding to read, counted from 1; 0 reads the first that can be read, and the next
	// where that turns out to be damaged.
	Only int
	// Skipped, if not nil, is called with the reason for each encoding that was passed over.
	Skipped func(error)
	// Restored, if not nil, is called where the statistics of a field contradict each other or its bits: where bits that the writer cleared were
	// restored by what the statistics count, or could not be, and, without Audit, where the descriptor alone contradicts itself.
	Restored func(error)
	// Audit looks for contradictions at the cost of more reads: presence is read even where no position is null by the statistics, and values
	// that are stored beside a constant are compared with it.
	Audit bool
}

// alternatives is a field that is stored in several encodings, of which the first that works is read.
type alternatives struct {
	Column
	rest    []func() (Column, error)
	skipped func(error)
	// damage is what a request's bytes showed of the current encoding.
	damage error
}

// newAlternatives opens the first of several encodings that can be opened; the error is the last one's.
func newAlternatives(open []func() (Column, error), skipped func(error)) (Column, error) {
	c := &alternatives{rest: open, skipped: skipped}
	if err := c.next(nil); err != nil {
		return nil, err
	}
	if len(c.rest) == 0 {
		return c.Column, nil
	}
	return c, nil
}

// next opens the encoding behind one that failed because of why, which is the answer where there is none.
func (c *alternatives) next(why error) error {
	for len(c.rest) > 0 {
		if why != nil {
			c.skipped(why)
		}
		open := c.rest[0]
		c.rest = c.rest[1:]
		opened, err := open()
		if err == nil {
			c.Column, c.damage = opened, nil
			return nil
		}
		if !isStored(err) {
			return err
		}
		why = err
	}
	return why
}

// isStored reports whether an error is about stored data, so that the same values stored otherwise may be read; what a scan
// may not spend it may not spend on another encoding either.
func isStored(err error) bool {
	return (errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported)) && !errors.Is(err, budget.ErrExceeded)
}

func (c *alternatives) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	for {
		if c.damage != nil {
			if err := c.next(c.damage); err != nil {
				return nil, err
			}
		}
		requests, err := c.Column.Need(ranges, whole)
		if err == nil {
			return c.watch(requests), nil
		}
		if !isStored(err) {
			return nil, err
		}
		c.damage = err
	}
}

// watch lets damage that shows when requests are filled be a reason to take the next encoding.
func (c *alternatives) watch(requests []colstream.Request) []colstream.Request {
	of := c.Column
	for i := range requests {
		fill := requests[i].Fill
		requests[i].Fill = func(b []byte) error {
			if c.Column != of || c.damage != nil {
				return nil // passed over in the meantime
			}
			err := fill(b)
			if isStored(err) {
				c.damage = err
				return nil
			}
			return err
		}
	}
	return requests
}

func (c *alternatives) Read(r colstream.Range) (arrow.ArrayData, error) {
	d, err := c.Column.Read(r)
	if err == nil || !isStored(err) {
		return d, err
	}
	if err := c.next(err); err != nil {
		return nil, err
	}
	return nil, ErrOtherEncoding
}
