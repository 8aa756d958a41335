package resthttp

import (
	"log/slog"
	"time"
)

// OutageLog reports the begin and the end of an outage of a catalog.
func OutageLog(log *slog.Logger, identity string) (begin func(error, time.Time), end func(time.Duration)) {
	if log == nil {
		return nil, nil
	}
	begin = func(cause error, until time.Time) {
		log.Warn("the catalog is unreachable; retrying", "catalog", identity, "error", cause.Error(), "for", time.Until(until).Round(time.Second).String())
	}
	return begin, func(outage time.Duration) {
		log.Info("the catalog is reachable again", "catalog", identity, "outage", outage.Round(100*time.Millisecond).String())
	}
}
