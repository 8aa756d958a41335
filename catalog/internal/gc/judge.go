package gc

import (
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/etags"
)

// UnknownAge is why an object without a time stays.
const UnknownAge = "unknown age: the store returns no modification time"

// YoungAge is why an object stays that may belong to a running writer.
const YoungAge = "younger than min-age"

// Ages are what a collection goes by; now is the store's clock.
type Ages struct {
	Now                 time.Time
	MinAge, DeleteDelay time.Duration
}

// Aged reports whether something happened at least age ago by the store's clock. What has no time never did.
func (a Ages) Aged(at time.Time, age time.Duration) bool {
	return blobio.KnownTime(at) && a.Now.Sub(at) >= age
}

// Verdict is what becomes of an object.
type Verdict int

const (
	Keep Verdict = iota
	MarkNow
	DeleteNow
)

// Mark is the mark on an object that an earlier run found unreachable.
type Mark struct {
	Size     int64
	ETag     string
	Modified time.Time
	// Run made the mark, at a time by the store's clock.
	Run   string
	Since time.Time
}

// Same reports whether the object is still the one that was marked.
func (m *Mark) Same(info *blobio.Info) bool {
	return m.Size == info.Size && etags.Same(m.ETag, info.ETag) && m.Modified.Equal(info.ModTime.UTC())
}

// Judge reports what becomes of an object that nothing reaches, and why. mark is nil if no run has marked it.
func (a Ages) Judge(info *blobio.Info, kind Kind, mark *Mark) (Verdict, string) {
	switch {
	case kind == Unknown:
		return Keep, "unknown kind of object"
	case !blobio.KnownTime(info.ModTime):
		return Keep, UnknownAge
	case !a.Aged(info.ModTime, a.MinAge):
		return Keep, YoungAge
	case mark == nil:
		return MarkNow, "unreachable from every snapshot, ref and open job"
	case !mark.Same(info):
		return MarkNow, "changed since it was marked for deletion"
	case !a.Aged(mark.Since, a.DeleteDelay):
		return Keep, "marked, waiting for delete-delay"
	}
	return DeleteNow, "marked for deletion by " + mark.Run + ", still unreachable"
}
