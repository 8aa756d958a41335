package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/parallel"
)

// jobFiles is the kind of the record that lists the files of IngestFiles.
const jobFiles = "ingest-files"

// FileSource is the records of some files.
type FileSource interface {
	RecordSource
	io.Closer
}

// FilesOptions of IngestFiles.
type FilesOptions struct {
	// Ingest are the options of each part. Its JobID names the whole; if it is empty one is made of the
	// tags IngestBy, or at random.
	Ingest IngestOptions
	// PartFiles is how many files are committed together, 200 if 0.
	PartFiles int
	// Workers land parts at the same time, as many as there are processors if 0. Each has memory for itself.
	Workers int
	// Open opens the files of a part. It is called by several workers at the same time.
	Open func(context.Context, []InputFile) (FileSource, error)
	// Begun, if not nil, is called before the first file is landed, with the job ID and the number of bytes of
	// them are left.
	Begun func(jobID string, bytes int64)
}

// defaultPartFiles are few enough that a part is landed soon, and so many that snapshots stay rare.
const defaultPartFiles = 200

// IngestFilesResult is what IngestFiles added.
type IngestFilesResult struct {
	JobID string `json:"job_id"`
	// Files of the job; Before of them had been committed by an earlier run of it.
	Files  int `json:"files"`
	Before int `json:"files_before"`
	// Snapshots, Shards, Rows and Bytes were added now.
	Snapshots int   `json:"snapshots"`
	Shards    int   `json:"shards"`
	Rows      int64 `json:"rows"`
	Bytes     int64 `json:"bytes"`
	// Unlisted counts files that came after the job was begun: they are none of it.
	Unlisted int `json:"unlisted,omitempty"`
}

// IngestFiles lands many files in parts, several at a time, each part in a snapshot of its own. The files are recorded
// before the first part is landed, so that the same job, run again after a crash, lands the parts that are missing and no
// other: what was committed stays as it is. A listed file that is gone, or has another size now, is ErrInvalid. See
// docs/design/ingest-files.md.
func (t *Table) IngestFiles(ctx context.Context, files []InputFile, o FilesOptions) (*IngestFilesResult, error) {
	o.Ingest.named()
	id := o.Ingest.JobID
	if id == "" {
		id = uuid.NewString()
	}
	if o.PartFiles == 0 {
		o.PartFiles = defaultPartFiles
	}
	if o.Open == nil || o.PartFiles < 0 || !validPart(id) || len(id) > maxJobID-len(partSuffix(0)) {
		return nil, fmt.Errorf("%w: job id %q, %d files a part", ErrInvalid, id, o.PartFiles)
	}
	branch, err := t.writableBranch(o.Ingest.Ref)
	if err != nil {
		return nil, err
	}
	for range 2 { // a record that the store denies once would bring all rows a second time
		if done, err := t.alreadyCommitted(ctx, branch, id); done != nil || err != nil { // in one commit, when there were fewer files
			return &IngestFilesResult{JobID: id, Files: len(files), Before: len(files)}, err
		}
	}
	record, err := t.listFiles(ctx, id, branch, files, o.PartFiles)
	if err != nil {
		return nil, err
	}
	r := &filesRun{table: t, branch: branch, options: o, record: record,
		out: &IngestFilesResult{JobID: id, Files: len(record.Files)}}
	if r.out.Unlisted, err = compareFiles(record, files); err != nil {
		return nil, err
	}
	return r.out, r.run(ctx)
}

// HasFiles reports whether a job of that id was begun by IngestFiles.
func (t *Table) HasFiles(ctx context.Context, id string) (bool, error) {
	if !validPart(id) {
		return false, nil
	}
	return t.jobFolder().Has(ctx, id+filesSuffix, jobrecord.BegunSuffix)
}

// filesSuffix ends the name of the run of a job that lists files.
const filesSuffix = ".files"

// listFiles records the files of a job, or reads what an earlier run of it recorded.
func (t *Table) listFiles(ctx context.Context, id, branch string, files []InputFile, part int) (*JobRecord, error) {
	if err := t.within(ctx).checkWritable(); err != nil {
		return nil, err
	}
	if err := t.claimVault(ctx); err != nil {
		return nil, err
	}
	r := &JobRecord{
		Version: records.Version, ID: id, Attempt: uuid.NewString(), Kind: jobFiles, Outputs: []string{}, Base: t.head(branch),
		Ref: branch, Started: t.cat.opts.Now().UTC(), Files: files, PartFiles: part,
	}
	if text, err := records.Encode(r); err != nil || len(text) > records.Limit {
		return nil, fmt.Errorf("%w: the list of %d files takes %d bytes, more than the limit of %d: load them in several jobs", ErrInvalid, len(files), len(text), records.Limit)
	}
	at := t.jobFolder().URL + id + filesSuffix + jobrecord.BegunSuffix
	err := t.cat.records.Put(ctx, at, r)
	if errors.Is(err, blobio.ErrExists) {
		*r = JobRecord{}
		err = t.cat.records.Read(ctx, at, r)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("job %s: %w", id, err)
	case r.Ref != branch || r.PartFiles <= 0:
		return nil, fmt.Errorf("%w: job %s was started on branch %q", ErrInvalid, id, r.Ref)
	}
	return r, nil
}

// compareFiles finds the files of the record among those that are there, and counts the others.
func compareFiles(r *JobRecord, files []InputFile) (unlisted int, err error) {
	there := make(map[string]int64, len(files))
	for _, f := range files {
		there[f.URL] = f.Size
	}
	for _, f := range r.Files {
		size, ok := there[f.URL]
		switch {
		case !ok:
			return 0, fmt.Errorf("%w: job %s lists %s, which is missing from the input files; use another job id", ErrInvalid, r.ID, f.URL)
		case size != f.Size:
			return 0, fmt.Errorf("%w: %s had %d bytes when job %s listed it, and has %d now; use another job id", ErrInvalid, f.URL, f.Size, r.ID, size)
		}
		delete(there, f.URL)
	}
	return len(there), nil
}

// partSuffix distinguishes the jobs of parts.
func partSuffix(n int) string { return fmt.Sprintf("-%05d", n) }

// filesRun lands the parts of a record.
type filesRun struct {
	table   *Table
	branch  string
	options FilesOptions
	record  *JobRecord
	workers int

	mu  sync.Mutex
	out *IngestFilesResult
}

func (r *filesRun) run(ctx context.Context) error {
	left, bytes, err := r.missing(ctx)
	if err != nil {
		return err
	}
	if r.options.Begun != nil {
		r.options.Begun(r.record.ID, bytes)
	}
	workers := r.options.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if r.options.Ingest.keyed() {
		workers = 1 // later files replace rows of earlier ones
	}
	r.workers = min(workers, max(1, len(left)))
	err = parallel.Each(ctx, r.workers, len(left), func(i int) error {
		err := r.land(ctx, left[i])
		if err != nil {
			return fmt.Errorf("part %d of job %s: %w", left[i], r.record.ID, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t := r.table
	end := &JobEnd{ID: r.record.ID, Attempt: r.record.Attempt, Outcome: jobrecord.Committed, Ref: r.branch, Closed: t.cat.opts.Now().UTC()}
	if err := t.jobFolder().PutEnd(context.WithoutCancel(ctx), r.record.ID+filesSuffix, end); err != nil {
		t.cat.opts.Log.Warn("the files are loaded, but the record of their job could not be closed", "error", err)
	}
	if err := t.Refresh(ctx); err != nil { // every part is committed
		t.cat.opts.Log.Warn("the files are loaded, but the table's new state can't be read", "table", t.name.String(), "error", err)
	}
	return nil
}

// part gives the files of a part.
func (r *filesRun) part(n int) []InputFile {
	from := n * r.record.PartFiles
	return r.record.Files[from:min(len(r.record.Files), from+r.record.PartFiles)]
}

// missing finds the parts that no run has committed, and how many bytes they have.
func (r *filesRun) missing(ctx context.Context) (left []int, bytes int64, err error) {
	for n := 0; n*r.record.PartFiles < len(r.record.Files); n++ {
		done, err := r.table.alreadyCommitted(ctx, r.branch, r.record.ID+partSuffix(n))
		if err != nil {
			return nil, 0, err
		}
		if done != nil {
			r.out.Before += len(r.part(n))
			continue
		}
		left = append(left, n)
		for _, f := range r.part(n) {
			bytes += f.Size
		}
	}
	return left, bytes, nil
}

// land lands one part, by a table of its own.
func (r *filesRun) land(ctx context.Context, n int) (err error) {
	t, err := r.table.cat.Load(ctx, r.table.name)
	if err != nil {
		return err
	}
	src, err := r.options.Open(ctx, r.part(n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	o := r.options.Ingest
	o.JobID, o.share = r.record.ID+partSuffix(n), int64(r.workers)
	in, err := t.Ingest(ctx, src, o)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if in.CommitResult.Before {
		r.out.Before += len(r.part(n))
		return nil
	}
	r.out.Snapshots, r.out.Shards = r.out.Snapshots+1, r.out.Shards+len(in.Shards)
	r.out.Rows, r.out.Bytes = r.out.Rows+in.Rows, r.out.Bytes+in.Bytes
	return nil
}
