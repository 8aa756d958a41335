package tablescan

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
)

// A panic while a shard is read ends the scan with an error that names the shard, not the process.
func TestPanicOfOneShard(t *testing.T) {
	out := make(chan delivery, 1)
	r := &reading{plan: &Plan{}} // of no table, so that nothing can be read
	r.shard(context.Background(), &manifest.Entry{Path: "mem://hostile/s.amudai.shard", Format: manifest.Format}, shardTurn{}, out)
	err := (<-out).err
	if p := (*parallel.Panic)(nil); !errors.As(err, &p) || !strings.HasPrefix(err.Error(), "mem://hostile/s.amudai.shard: internal error") {
		t.Error(err)
	}
}
