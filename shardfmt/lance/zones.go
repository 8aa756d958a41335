package lance

import "context"

// ZoneStats counts what zone maps left out.
type ZoneStats struct {
	// Zones that were looked at, and those of them whose rows were left out.
	Known, Skipped int
}

func (s *Source) prune(_ context.Context) error { return nil }
