package catalog

import (
	"context"
	"time"

	"github.com/shardcat/shardcat/catalog/internal/backoff"
)

func unknownPause(n int) time.Duration { return backoff.Unknown(n) }

func wait(ctx context.Context, d time.Duration) error { return backoff.Wait(ctx, d) }
