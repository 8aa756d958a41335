package tablescan

import (
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// TestOnlyDamageLosesRows: a repair drops no shard for a store that denies, does not answer, or a limit of memory.
func TestOnlyDamageLosesRows(t *testing.T) {
	for class, want := range map[error]bool{
		blobio.ErrDenied: false, blobio.ErrThrottled: false, blobio.ErrTransient: false, blobio.ErrUnknown: false,
		blobio.ErrCanceled: false, blobio.ErrChanged: false, blobio.ErrNotFound: true, blobio.ErrRange: true,
	} {
		if got := rowsAreLost(blobio.NewError("read", "mem://b/k", class, nil)); got != want {
			t.Errorf("%v: %t", class, got)
		}
	}
	tooMuch := &corrupt.Error{Kind: corrupt.ErrUnsupported, Err: shardfmt.ErrBudget}
	if rowsAreLost(tooMuch) || !rowsAreLost(corrupt.At(0, "a flipped bit")) || !rowsAreLost(fmt.Errorf("%w: 1 of 2", errRows)) {
		t.Error("a limit is damage, or damage is none")
	}
}
