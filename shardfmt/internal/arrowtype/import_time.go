package arrowtype

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/internal/literal"
)

// unitTicks is how many ticks a unit of time has, and, below a tick, how many units a tick has.
func unitTicks(u arrow.TimeUnit) (ticks, perTick int64) {
	switch u {
	case arrow.Second:
		return literal.TicksPerSecond, 1
	case arrow.Millisecond:
		return literal.TicksPerSecond / 1_000, 1
	case arrow.Microsecond:
		return literal.TicksPerSecond / 1_000_000, 1
	}
	return 1, 100
}

// clock reads the values of one array of times or spans, in ticks from its own zero.
type clock struct {
	value          func(i int) int64
	ticks, perTick int64
	// epoch is where a point in time counts from.
	epoch int64
}

// at is value i. ok is false if it has too many ticks; cut reports digits below 100 ns, which are dropped: from the text of a point in time,
// which makes it earlier, and from the magnitude of a span.
func (c clock) at(i int) (ticks int64, cut, ok bool) {
	v := c.value(i)
	hi, lo := bits.Mul64(magnitude(v), uint64(c.ticks))
	if hi != 0 || lo > math.MaxInt64 && (v > 0 || lo > 1<<63) {
		return 0, false, false
	}
	ticks, cut = v*c.ticks/c.perTick, c.perTick > 1 && v%c.perTick != 0
	if cut && v < 0 && c.epoch != 0 {
		ticks--
	}
	return ticks, cut, true
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// clockOf finds out how an array counts. Integers are ticks.
func clockOf(a arrow.Array) (clock, bool) {
	var c clock
	var unit arrow.TimeUnit
	switch v := a.(type) {
	case *array.Timestamp:
		unit, c.epoch = v.DataType().(*arrow.TimestampType).Unit, literal.UnixEpoch
		c.value = func(i int) int64 { return int64(v.Value(i)) }
	case *array.Duration:
		unit = v.DataType().(*arrow.DurationType).Unit
		c.value = func(i int) int64 { return int64(v.Value(i)) }
	case *array.Time32:
		unit = v.DataType().(*arrow.Time32Type).Unit
		c.value = func(i int) int64 { return int64(v.Value(i)) }
	case *array.Time64:
		unit = v.DataType().(*arrow.Time64Type).Unit
		c.value = func(i int) int64 { return int64(v.Value(i)) }
	case *array.Date32:
		return clock{func(i int) int64 { return int64(v.Value(i)) }, literal.TicksPerDay, 1, literal.UnixEpoch}, true
	case *array.Date64:
		unit, c.epoch = arrow.Millisecond, literal.UnixEpoch
		c.value = func(i int) int64 { return int64(v.Value(i)) }
	case *array.Int64:
		return clock{v.Value, 1, 1, 0}, true
	case *array.Uint64:
		return clock{func(i int) int64 { return int64(v.Value(i)) }, 1, 1, 0}, true
	default:
		return clock{}, false
	}
	c.ticks, c.perTick = unitTicks(unit)
	return c, true
}

// times converts points in time; what lies outside the years 1 to 9999 is refused with its row.
func (im *importing) times(a arrow.Array, p place) (arrow.Array, error) {
	c, ok := clockOf(a)
	_, spans := a.DataType().(*arrow.DurationType)
	if !ok || spans || a.DataType().ID() == arrow.TIME32 || a.DataType().ID() == arrow.TIME64 {
		return nil, p.mismatch(a)
	}
	if out := wholeTimes(a, c); out != nil {
		storage := assemble(arrow.PrimitiveTypes.Int64, a, []*memory.Buffer{memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(out))})
		defer storage.Release()
		return array.NewExtensionArrayWithStorage(DateTime, storage), nil
	}
	return im.ticks(DateTime, a, p, func(i int) (int64, bool, error) {
		ticks, cut, ok := c.at(i)
		if !ok || ticks < -c.epoch || ticks > literal.MaxDateTime-c.epoch {
			return 0, false, p.refuse(i, "%s is outside the years 1 to 9999", a.ValueStr(i))
		}
		return ticks + c.epoch, cut, nil
	})
}

// wholeTimes converts the usual points in time, in units of at least a tick and none of them null, in one loop; nil if these are
// others, or one lies outside the years 1 to 9999.
func wholeTimes(a arrow.Array, c clock) []int64 {
	if c.perTick != 1 || a.NullN() > 0 {
		return nil
	}
	switch v := a.(type) {
	case *array.Date32:
		return ticksOf(v.Date32Values(), c)
	case *array.Timestamp:
		return ticksOf(v.TimestampValues(), c)
	}
	return nil
}

func ticksOf[T ~int32 | ~int64](values []T, c clock) []int64 {
	first, last := -c.epoch/c.ticks, (literal.MaxDateTime-c.epoch)/c.ticks // an epoch is a whole number of units
	out := bufpool.Of[int64](len(values))
	for i, v := range values {
		if int64(v) < first || int64(v) > last {
			return nil
		}
		out[i] = int64(v)*c.ticks + c.epoch
	}
	return out
}

// spans converts durations and times of day.
func (im *importing) spans(a arrow.Array, p place) (arrow.Array, error) {
	c, ok := clockOf(a)
	if !ok || c.epoch != 0 {
		return nil, p.mismatch(a)
	}
	return im.ticks(TimeSpan, a, p, func(i int) (int64, bool, error) {
		if c.ticks == 1 && c.perTick == 1 {
			return c.value(i), false, nil // ticks already, all of 64 bits
		}
		ticks, cut, ok := c.at(i)
		if !ok {
			return 0, false, p.refuse(i, "%s is more than a TimeSpan holds", a.ValueStr(i))
		}
		return ticks, cut, nil
	})
}

// ticks makes an extension array over int64 ticks, and notes how many values were cut.
func (im *importing) ticks(t arrow.ExtensionType, a arrow.Array, p place, value func(i int) (int64, bool, error)) (arrow.Array, error) {
	cuts := int64(0)
	storage, err := fill(arrow.PrimitiveTypes.Int64, a, arrow.Int64Traits.CastToBytes, func(i int) (int64, error) {
		v, cut, err := value(i)
		if cut {
			cuts++
			if im.Strict {
				return 0, p.refuse(i, "%s has digits below 100 ns", a.ValueStr(i))
			}
		}
		return v, err
	})
	if err != nil {
		return nil, err
	}
	if cuts > 0 {
		im.report.Add(p.path, "digits below 100 ns are truncated", cuts)
	}
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(t, storage), nil
}
