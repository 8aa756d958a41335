package webui

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/manifest"
)

// overview is what reading all entries of a table reports. It is shared by requests, which only read it.
type overview struct {
	lines   []shardLine
	picture *picture
	plan    *compaction.Plan
	policy  []compaction.SettingValue
	// problem is why there is no plan.
	problem error

	state string
	made  time.Time
}

// overviews keeps the last ones: entries of a large table take seconds to read, and a page is requested again and again.
type overviews struct {
	making singleflight.Group

	mu   sync.Mutex
	last []*overview // the one used last at the end
}

const (
	// keptShards bounds the shards of all overviews that are kept, at some 300 bytes each.
	keptShards = 400_000
	// freshFor bounds the age of an overview, for plans also depend on the time.
	freshFor = time.Minute
)

// of finds or makes the overview of a table in its present state.
func (o *overviews) of(ctx context.Context, t *catalog.Table, in *compaction.Effective) (*overview, error) {
	state := fmt.Sprint(t.Name(), t.Head(), manifest.Shape(t.Schema(), t.FieldIDs()), in.Values)
	if v := o.find(state); v != nil {
		return v, nil
	}
	made, err, _ := o.making.Do(state, func() (any, error) {
		v, err := newOverview(context.WithoutCancel(ctx), t, in) // others wait for it too
		if err == nil {
			v.state = state
			o.keep(v)
		}
		return v, err
	})
	v, _ := made.(*overview)
	return v, err
}

func (o *overviews) find(state string) *overview {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, v := range o.last {
		if v.state == state && time.Since(v.made) < freshFor {
			return v
		}
	}
	return nil
}

// keep adds an overview, and lets go of the oldest ones that are too many.
func (o *overviews) keep(v *overview) {
	o.mu.Lock()
	defer o.mu.Unlock()
	shards, kept := len(v.lines), []*overview{v}
	for i := len(o.last) - 1; i >= 0; i-- {
		if shards += len(o.last[i].lines); shards > keptShards || time.Since(o.last[i].made) >= freshFor {
			break
		}
		kept = append([]*overview{o.last[i]}, kept...)
	}
	o.last = kept
}

// newOverview reads all entries of a table.
func newOverview(ctx context.Context, t *catalog.Table, in *compaction.Effective) (*overview, error) {
	lines, err := shardLines(ctx, t)
	if err != nil {
		return nil, err
	}
	v := &overview{lines: lines, picture: newPicture(lines), policy: in.Values, made: time.Now()}
	v.plan, v.problem = compaction.NewPlan(ctx, t, in.Policy)
	return v, nil
}
