package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Kinds of refs.
const (
	RefBranch = "branch"
	RefTag    = "tag"
)

// Ref names a snapshot: a branch moves with every commit to it, a tag stays. Both keep their snapshot from expiry, a
// branch its history too.
type Ref struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	SnapshotID int64  `json:"snapshot_id"`
}

// Refs lists the branches and tags, main first and then by name.
func (t *Table) Refs() []Ref {
	out := []Ref{}
	for name, ref := range t.ice.Metadata().Refs() {
		out = append(out, Ref{name, string(ref.SnapshotRefType), ref.SnapshotID})
	}
	slices.SortFunc(out, func(a, b Ref) int {
		if main := a.Name == table.MainBranch; main != (b.Name == table.MainBranch) {
			return map[bool]int{true: -1, false: 1}[main]
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// ref finds a ref by name; ErrNotFound names the closest ones.
func (t *Table) ref(name string) (*table.SnapshotRef, error) {
	meta := t.ice.Metadata()
	for there, ref := range meta.Refs() {
		if there == name {
			return &ref, nil
		}
	}
	return nil, fmt.Errorf("table %s: ref %q: %w; available: %s", t.name, name, ErrNotFound, suggestNames(name, refNames(meta)))
}

// writableBranch checks that commits can go to a branch. main is returned as "".
func (t *Table) writableBranch(name string) (string, error) {
	if name == "" || name == table.MainBranch {
		return "", nil
	}
	ref, err := t.ref(name)
	if err != nil {
		return "", err
	}
	if ref.SnapshotRefType != table.BranchRef {
		return "", fmt.Errorf("%w: table %s: %q is a tag, which can't be moved; commit to a branch", ErrInvalid, t.name, name)
	}
	return name, nil
}

// CreateTag names a snapshot, the head of main if the id is 0.
func (t *Table) CreateTag(ctx context.Context, name string, snapshot int64) (*Ref, error) {
	return t.createRef(ctx, name, table.TagRef, snapshot)
}

// CreateBranch begins a branch at a snapshot, the head of main if the id is 0.
func (t *Table) CreateBranch(ctx context.Context, name string, snapshot int64) (*Ref, error) {
	return t.createRef(ctx, name, table.BranchRef, snapshot)
}

func (t *Table) createRef(ctx context.Context, name string, kind table.RefType, snapshot int64) (*Ref, error) {
	if !validRef(name) {
		return nil, fmt.Errorf("%w: ref %q: use letters, digits, and _ - . /", ErrInvalid, name)
	}
	if name == table.MainBranch {
		return nil, fmt.Errorf("%w: ref main: reserved for the table's default branch", ErrExists)
	}
	made := &Ref{Name: name, Type: string(kind)}
	err := t.update(ctx, func() (*metaUpdate, error) {
		s, err := t.snapshotOrHead(snapshot)
		if err != nil {
			return nil, err
		}
		if there, err := t.ref(name); err == nil {
			return nil, fmt.Errorf("%w: table %s: %s %q, at snapshot %d", ErrExists, t.name, there.SnapshotRefType, name, there.SnapshotID)
		}
		made.SnapshotID = s.SnapshotID
		u := setRef(name, kind, nil, s.SnapshotID)
		if kind != table.BranchRef { // a tag is read by the schema of its time
			return u, nil
		}
		return u, t.liveAgain(ctx, u, s)
	})
	return made, err
}

// validRef: names that need no quoting anywhere.
func validRef(name string) bool {
	return validPart(strings.NewReplacer(".", "_", "/", "_").Replace(name))
}

// snapshotOrHead finds a snapshot by its id, the head of main if that is 0.
func (t *Table) snapshotOrHead(id int64) (*table.Snapshot, error) {
	s, err := t.snapshot(At{SnapshotID: id})
	if err == nil && s == nil {
		err = fmt.Errorf("table %s: %w: it has no snapshot yet", t.name, ErrNotFound)
	}
	return s, err
}

// setRef is the update that sets a ref, if it still is where it was (nil: not there).
func setRef(name string, kind table.RefType, was *int64, snapshot int64) *metaUpdate {
	return &metaUpdate{
		requirements: []table.Requirement{table.AssertRefSnapshotID(name, was)},
		updates:      []table.Update{table.NewSetSnapshotRefUpdate(name, snapshot, kind, 0, 0, 0)},
		done: func(meta table.Metadata) bool {
			s := meta.SnapshotByName(name)
			return s != nil && s.SnapshotID == snapshot
		},
	}
}

// DropRef removes a branch or a tag; main can't be removed. Snapshots that only it kept go with the next expiry.
func (t *Table) DropRef(ctx context.Context, name string) error {
	if name == table.MainBranch {
		return fmt.Errorf("%w: main is the table's default branch; drop the table instead", ErrInvalid)
	}
	return t.update(ctx, func() (*metaUpdate, error) {
		ref, err := t.ref(name)
		if err != nil {
			return nil, err
		}
		u := &metaUpdate{
			requirements: []table.Requirement{table.AssertRefSnapshotID(name, &ref.SnapshotID)},
			updates:      []table.Update{table.NewRemoveSnapshotRefUpdate(name)},
			done:         func(meta table.Metadata) bool { return meta.SnapshotByName(name) == nil },
		}
		if ref.SnapshotRefType != table.BranchRef {
			return u, nil
		}
		return u, t.noteUndone(u, t.lost(ref.SnapshotID, t.head("")), nil)
	})
}

// Rollback makes an earlier snapshot of main its head again. Later snapshots stay until they expire; FastForward
// brings them back.
func (t *Table) Rollback(ctx context.Context, snapshot int64) error {
	return t.update(ctx, func() (*metaUpdate, error) {
		s, err := t.snapshotOrHead(snapshot)
		if err != nil {
			return nil, err
		}
		head := t.head("")
		history := t.ancestors(head)
		if !slices.Contains(history, snapshot) {
			return nil, fmt.Errorf("%w: table %s: snapshot %d is not in the history of main; available: %s", ErrInvalid, t.name,
				snapshot, suggestNames(fmt.Sprint(snapshot), numbered(history)))
		}
		if snapshot == head {
			return nil, nil
		}
		u := setRef(table.MainBranch, table.BranchRef, &head, snapshot)
		if err := t.liveAgain(ctx, u, s); err != nil {
			return nil, err
		}
		return u, t.noteUndone(u, t.lost(head, snapshot), nil)
	})
}

// FastForward moves a branch to a later snapshot that has the branch's head in its history: that of another ref, or
// one named by its id. A branch that has commits of its own is ErrConflict.
func (t *Table) FastForward(ctx context.Context, branch string, to At) (*Ref, error) {
	moved := &Ref{Name: branch, Type: RefBranch}
	err := t.update(ctx, func() (*metaUpdate, error) {
		target, err := t.snapshot(to)
		if err != nil {
			return nil, err
		}
		ref, err := t.ref(branch)
		if err != nil {
			return nil, err
		}
		if _, err := t.writableBranch(branch); err != nil {
			return nil, err
		}
		moved.SnapshotID = target.SnapshotID
		history := t.ancestors(target.SnapshotID)
		switch {
		case ref.SnapshotID == target.SnapshotID:
			return nil, nil
		case !slices.Contains(history, ref.SnapshotID):
			return nil, fmt.Errorf("%w: table %s: %s has diverged since snapshot %d; cherry-pick the missing snapshots",
				ErrConflict, t.name, branch, target.SnapshotID)
		}
		u := setRef(branch, table.BranchRef, &ref.SnapshotID, target.SnapshotID)
		if err := t.liveAgain(ctx, u, target); err != nil {
			return nil, err
		}
		return u, t.noteUndone(u, nil, history)
	})
	return moved, err
}

// liveAgain checks that the rows of a snapshot, which u makes the head of a branch, may be live under the table's schema as it is now,
// and makes that a condition of u.
func (t *Table) liveAgain(ctx context.Context, u *metaUpdate, s *table.Snapshot) error {
	u.requirements = append(u.requirements, table.AssertCurrentSchemaID(t.ice.Metadata().CurrentSchema().ID))
	return t.checkRequiredAt(ctx, s)
}

// ancestors are a snapshot and what led to it, as far as it is retained, latest first.
func (t *Table) ancestors(id int64) (ids []int64) {
	for s := t.ice.Metadata().SnapshotByID(id); s != nil; {
		ids = append(ids, s.SnapshotID)
		if s.ParentSnapshotID == nil {
			break
		}
		s = t.ice.Metadata().SnapshotByID(*s.ParentSnapshotID)
	}
	return ids
}

// lost are the snapshots in the history of one that are not in that of another.
func (t *Table) lost(from, to int64) []int64 {
	kept := t.ancestors(to)
	return slices.DeleteFunc(t.ancestors(from), func(id int64) bool { return slices.Contains(kept, id) })
}

func numbered(ids []int64) (out []number) {
	for _, id := range ids {
		out = append(out, number(id))
	}
	return out
}

// undoneProperty is the table property that lists, as a JSON array, the snapshots that were rolled back, or dropped
// with their branch. When they have expired it reports that a job which they committed is to be done again.
const undoneProperty = "shardcat.undone"

// undone reads undoneProperty.
func (t *Table) undone() ([]int64, error) {
	text := t.Properties()[undoneProperty]
	if text == "" {
		return nil, nil
	}
	var ids []int64
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		return nil, fmt.Errorf("table %s: property %s: %w", t.name, undoneProperty, err)
	}
	return ids, nil
}

// noteUndone adds to an update that snapshots are undone, or done again.
func (t *Table) noteUndone(u *metaUpdate, undone, redone []int64) error {
	was, err := t.undone()
	if err != nil {
		return err
	}
	ids := slices.Concat(was, undone)
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id int64) bool { return slices.Contains(redone, id) })
	switch {
	case slices.Equal(ids, was):
		return nil
	case len(ids) == 0:
		u.updates = append(u.updates, table.NewRemovePropertiesUpdate([]string{undoneProperty}))
		return nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	u.updates = append(u.updates, table.NewSetPropertiesUpdate(iceberg.Properties{undoneProperty: string(text)}))
	return nil
}
