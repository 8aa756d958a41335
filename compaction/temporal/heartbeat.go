package temporal

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/nocache"
)

// heart gives signs of life while a step is at work, with its progress. An answer to one reports that the step was cancelled, which ends its context.
type heart struct {
	last atomic.Pointer[compaction.Progress]
	end  context.CancelFunc
}

// beating starts a heart for the activity of a context; the context ends with it.
func beating(ctx context.Context) (context.Context, *heart) {
	if activity.GetInfo(ctx).Attempt > 1 { // a cache may have a damaged copy of what failed
		ctx = nocache.With(ctx)
	}
	alive, end := context.WithCancel(ctx)
	h := &heart{end: end}
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	if timeout <= 0 { // an activity that another client has started
		timeout = defaultHeartbeat * time.Second
	}
	go func() {
		tick := time.NewTicker(timeout / 4)
		defer tick.Stop()
		for {
			activity.RecordHeartbeat(alive, h.last.Load())
			select {
			case <-alive.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return alive, h
}

func (h *heart) progress(p compaction.Progress) { h.last.Store(&p) }

func (h *heart) stop() { h.end() }
