package jobrecord

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// Folder is the one that the records of a table's jobs lie in.
type Folder struct {
	Client  *blobio.Client
	Records records.Client
	// URL with its trailing slash.
	URL string
}

// Listed is a listed record: the run that it is of, and the suffix of its kind, "" for the record of the run itself.
type Listed struct {
	blobio.Info
	Run, Kind string
}

// kindOf splits the name of a record.
func (f Folder) kindOf(info blobio.Info) Listed {
	name := strings.TrimPrefix(info.URL, f.URL)
	for _, s := range []string{ClosedSuffix, ClaimSuffix, WrittenSuffix} {
		if run, ok := strings.CutSuffix(name, s); ok {
			return Listed{info, run, s}
		}
	}
	return Listed{info, strings.TrimSuffix(name, BegunSuffix), ""}
}

// List lists the records whose names begin so.
func (f Folder) List(ctx context.Context, prefix string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for info, err := range f.Client.List(ctx, f.URL+prefix) {
			if !yield(f.kindOf(info), err) || err != nil {
				return
			}
		}
	}
}

// Has reports whether a run has the record with a suffix.
func (f Folder) Has(ctx context.Context, run, suffix string) (bool, error) {
	_, err := f.Client.Stat(ctx, f.URL+run+suffix)
	if errors.Is(err, blobio.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// EndOf reads how a run ended.
func (f Folder) EndOf(ctx context.Context, run string) (*End, error) {
	end := new(End)
	return end, f.Records.Read(ctx, f.URL+run+ClosedSuffix, end)
}

// PutEnd closes a run, unless another process has.
func (f Folder) PutEnd(ctx context.Context, run string, end *End) error {
	end.Version = records.Version
	err := f.Records.PutNote(ctx, f.URL+run+ClosedSuffix, end)
	if err != nil && !errors.Is(err, blobio.ErrExists) {
		return fmt.Errorf("job %s: %w", end.ID, err)
	}
	return nil
}

// Ends reads how the runs of a job ended. The first run's record has the job's name; only if that is taken are
// there others to be listed.
func (f Folder) Ends(ctx context.Context, id string) ([]*End, error) {
	if begun, err := f.Has(ctx, id, BegunSuffix); err != nil || !begun {
		return nil, err
	}
	var ends []*End
	for r, err := range f.List(ctx, id+".") {
		if err != nil {
			return nil, err
		}
		if r.Kind != ClosedSuffix {
			continue
		}
		end, err := f.EndOf(ctx, r.Run)
		if err != nil {
			return nil, err
		}
		ends = append(ends, end)
	}
	return ends, nil
}

// Claim decides what may become of the objects of a run; ErrConflict if the opposite was decided before.
func (f Folder) Claim(ctx context.Context, run string, r *Record, purpose string) error {
	err := f.Records.Put(ctx, f.URL+run+ClaimSuffix, claim{records.Version, purpose, r.Attempt})
	if errors.Is(err, blobio.ErrExists) {
		return fmt.Errorf("%w: the outputs of job %s were claimed by another process", caterr.ErrConflict, r.ID)
	}
	return err
}

// States reads the records of the open jobs whose names begin so, and if all those of the closed ones.
func (f Folder) States(ctx context.Context, prefix string, all bool) ([]*State, error) {
	begun, closed := []Listed{}, map[string]bool{}
	for r, err := range f.List(ctx, prefix) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("list %s: %w", f.URL+prefix, err)
		case r.Kind == ClosedSuffix:
			closed[r.Run] = true
		case r.Kind == "" && strings.HasSuffix(r.URL, BegunSuffix): // the others report what may become of the objects of a run
			begun = append(begun, r)
		}
	}
	if !all {
		begun = slices.DeleteFunc(begun, func(r Listed) bool { return closed[r.Run] })
	}
	out := make([]*State, len(begun))
	err := f.Client.Each(ctx, len(begun), func(ctx context.Context, _ *blobio.Client, i int) error {
		j := &State{run: begun[i].Run, Recorded: begun[i].ModTime.UTC()}
		err := f.Records.Read(ctx, begun[i].URL, &j.JobRecord)
		if errors.Is(err, blobio.ErrNotFound) {
			return nil // it ended since the list, or the list is a stale one: a committed job that nobody has named leaves no record
		}
		if err != nil {
			return fmt.Errorf("%s: %w", begun[i].URL, err)
		}
		if out[i] = j; closed[j.run] {
			j.End, err = f.EndOf(ctx, j.run)
		}
		return err
	})
	if err != nil {
		return nil, err // out has holes
	}
	return slices.DeleteFunc(out, func(j *State) bool { return j == nil }), nil
}

// Run are the records of a run, of which the first is nil if the run's own record is gone already, and the last if it is open.
type Run struct {
	begun, closed *blobio.Info
	notes         []*blobio.Info
}

// Old finds among listed objects the records of the runs that ended at times that are old.
func (f Folder) Old(listed []blobio.Info, old func(time.Time) bool) (out []*Run) {
	runs := map[string]*Run{}
	for i := range listed {
		info := &listed[i]
		if !strings.HasPrefix(info.URL, f.URL) || !strings.HasSuffix(info.URL, BegunSuffix) {
			continue
		}
		of := f.kindOf(*info)
		r := runs[of.Run]
		if r == nil {
			r = &Run{}
			runs[of.Run] = r
		}
		switch of.Kind {
		case "":
			r.begun = info
		case ClosedSuffix:
			r.closed = info
		default:
			r.notes = append(r.notes, info)
		}
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		r := runs[run]
		last := r.closed
		if last == nil && r.begun == nil { // a claim of a job whose record went with its commit
			last = slices.MaxFunc(r.notes, func(a, b *blobio.Info) int { return a.ModTime.Compare(b.ModTime) })
		}
		if last != nil && old(last.ModTime) {
			out = append(out, r)
		}
	}
	return out
}

// Forget deletes the records of runs: the one that reports that the job was begun first, for without its end it would be open, and
// only if it is the one that was listed, for the job may have begun again.
func (f Folder) Forget(ctx context.Context, runs []*Run) error {
	return f.Client.Each(ctx, len(runs), func(ctx context.Context, branch *blobio.Client, i int) error {
		r := runs[i]
		for _, info := range append(append([]*blobio.Info{r.begun}, r.notes...), r.closed) {
			if info == nil {
				continue
			}
			err := branch.Delete(ctx, info.URL, info.ETag)
			if errors.Is(err, blobio.ErrChanged) || errors.Is(err, blobio.ErrConflict) {
				return nil
			}
			if err != nil && !errors.Is(err, blobio.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}
