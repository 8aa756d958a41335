package check

import (
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/urlresolve"
)

// Place refuses an entry whose root lies where the table has no business.
func Place(path string, allow []urlresolve.Prefix) error {
	at, err := urlresolve.Parse(path)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(allow, func(p urlresolve.Prefix) bool { return p.Holds(at) }) {
		return fmt.Errorf("%w: the entry %s is neither in the table's vault folder nor in an adopted one", caterr.ErrUnsafe, path)
	}
	return nil
}
