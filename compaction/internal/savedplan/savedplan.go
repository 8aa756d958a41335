// Package savedplan keeps a plan beside its table, so that the processes which carry it out hand over two words instead of lists of shards.
package savedplan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// Plan names a plan whose groups lie in the table's vault folder, _compaction/plan-<id>-<number>.json.
type Plan struct {
	ID string `json:"id"`
	// Groups is the number of groups, counted from 0, those that move the least bytes first.
	Groups int `json:"groups"`
	// Ends is the number behind the last group of each size class.
	Ends [SizeClasses]int `json:"ends"`
	// Left counts groups that this plan has no space for: they are planned again after it.
	Left int `json:"left,omitempty"`
}

// SizeClass parts groups by the bytes that they move, so that those which take hours don't keep the others waiting.
type SizeClass int

// The classes: up to 64 MiB, concatenations among them; up to 1 GiB; more.
const (
	Small SizeClass = iota
	Medium
	Large
	// SizeClasses is their number.
	SizeClasses = iota
)

// String is the class's name.
func (c SizeClass) String() string { return [...]string{"small", "medium", "large"}[c] }

const (
	smallMoves  = 64 << 20
	mediumMoves = 1 << 30
	// maxSavedGroups bounds a saved plan.
	maxSavedGroups    = 1000
	savedGroupVersion = 1
	// maxSavedGroup bounds what is read of a group: the names of max-inputs shards.
	maxSavedGroup = 16 << 20
)

func sizeClassOf(g *compaction.Group) SizeClass {
	switch {
	case g.BytesMoved <= smallMoves:
		return Small
	case g.BytesMoved <= mediumMoves:
		return Medium
	}
	return Large
}

// Class is the size class of a group.
func (s *Plan) Class(number int) SizeClass {
	for c := Small; c < Large; c++ {
		if number < s.Ends[c] {
			return c
		}
	}
	return Large
}

// JobID is the id of a group's job.
func (s *Plan) JobID(number int) string { return fmt.Sprintf("%s-%d", s.ID, number) }

// savedGroup is the content of a group's object.
type savedGroup struct {
	Version int               `json:"version"`
	Mode    compaction.Mode   `json:"mode"`
	Inputs  []string          `json:"inputs"`
	Policy  compaction.Policy `json:"policy"`
	// SmallStripes and ShardRows are those of compaction.Group.
	SmallStripes bool  `json:"small_stripes,omitempty"`
	ShardRows    int64 `json:"shard_rows,omitempty"`
}

// Save writes the groups of a plan, 1,000 at most.
func Save(ctx context.Context, t *catalog.Table, p *compaction.Plan, policy compaction.Policy) (*Plan, error) {
	groups := make([]*compaction.Group, len(p.Groups))
	for i := range p.Groups {
		groups[i] = &p.Groups[i]
	}
	slices.SortStableFunc(groups, func(a, b *compaction.Group) int { return cmp.Compare(a.BytesMoved, b.BytesMoved) })
	s := &Plan{ID: uuid.NewString(), Groups: min(len(groups), maxSavedGroups)}
	s.Left = len(groups) - s.Groups
	groups = groups[:s.Groups]
	for i, g := range groups {
		for c := sizeClassOf(g); c <= Large; c++ {
			s.Ends[c] = i + 1
		}
	}
	return s, t.Catalog().Client().Each(ctx, len(groups), func(ctx context.Context, client *blobio.Client, i int) error {
		text, err := json.Marshal(savedGroup{savedGroupVersion, groups[i].Mode, groups[i].Inputs.Paths(), policy, groups[i].SmallStripes, groups[i].ShardRows})
		if err != nil {
			return err
		}
		return client.Put(ctx, s.at(t, i), append(text, '\n'))
	})
}

func (s *Plan) at(t *catalog.Table, number int) string {
	return fmt.Sprintf("%s_compaction/plan-%s.json", t.VaultFolder(), s.JobID(number))
}

// Group reads a group, with the policy that it was planned by. A shard of it that is no longer live is catalog.ErrConflict, a group that was
// removed catalog.ErrNotFound.
func (s *Plan) Group(ctx context.Context, t *catalog.Table, number int) (*compaction.Group, compaction.Policy, error) {
	text, _, err := t.Catalog().Client().ReadAll(ctx, s.at(t, number), maxSavedGroup)
	if errors.Is(err, blobio.ErrNotFound) {
		return nil, compaction.Policy{}, fmt.Errorf("%w: group %d of plan %s", catalog.ErrNotFound, number, s.ID)
	}
	var saved savedGroup
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err == nil && saved.Version > savedGroupVersion {
		err = fmt.Errorf("%w: %s is of version %d, this program supports %d", catalog.ErrUnsafe, s.at(t, number), saved.Version, savedGroupVersion)
	}
	if err != nil {
		return nil, compaction.Policy{}, err
	}
	g, err := compaction.GroupOf(ctx, t, saved.Inputs)
	if err != nil {
		return nil, compaction.Policy{}, err
	}
	g.SmallStripes, g.ShardRows = saved.SmallStripes, saved.ShardRows
	if g.Mode = saved.Mode; g.Mode != compaction.Concat {
		g.BytesMoved = g.Bytes
	}
	return g, saved.Policy, nil
}

// Remove deletes the plan's groups.
func (s *Plan) Remove(ctx context.Context, t *catalog.Table) error {
	return t.Catalog().Client().Each(ctx, s.Groups, func(ctx context.Context, client *blobio.Client, i int) error {
		if err := client.Delete(ctx, s.at(t, i), ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			return err
		}
		return nil
	})
}
