package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/rowhash"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/mutant"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

// The faults that an attack may find. Everything else is as it should be: an error of a known kind, or rows.
const (
	faultPanic    = "panic"
	faultUntyped  = "error of no known kind"
	faultUnread   = "verify passes what cat refuses"
	faultSilent   = "other rows without an error"
	faultMissed   = "verify passes changed bytes of a shard of our own"
	faultPruned   = "verify passes statistics that lose rows"
	faultPoison   = "admitted to tables, but too dear to read"
	faultInspect  = "inspect refuses what verify passes"
	faultUnusable = "a file was written as a shard that can't be read"
)

// rowLimit ends the reading of a case: a shard may honestly stand for more rows than anyone wants to wait for.
const rowLimit = 300_000

// verdict is what became of a case.
type verdict struct {
	Kind string `json:"kind"`
	// Fault is one of the faults, empty if there is none; Detail states more.
	Fault  string `json:"fault,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Outcome of reading: refused, same rows, other rows.
	Outcome string `json:"outcome"`
	Rows    int64  `json:"rows"`
	// Whole: verify found nothing.
	Whole bool `json:"whole,omitempty"`
	// Peak is the most bytes of memory in use, Nanos the time it took.
	Peak  uint64 `json:"peak"`
	Nanos int64  `json:"nanos"`
}

// The outcomes of reading.
const (
	refused   = "refused"
	sameRows  = "same rows"
	otherRows = "other rows"
)

// fault sets the first fault of a case.
func (v *verdict) fault(what, format string, args ...any) {
	if v.Fault == "" {
		v.Fault, v.Detail = what, fmt.Sprintf(format, args...)
	}
}

// guarded calls do and makes a fault of a panic.
func (v *verdict) guarded(where string, do func() error) error {
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				v.fault(faultPanic, "%s: %v\n%s", where, p, debug.Stack())
				err = errors.New("panic")
			}
		}()
		return do()
	}()
	if err != nil && v.Fault != faultPanic && !known(err) {
		v.fault(faultUntyped, "%s: %v", where, err)
	}
	return err
}

// known reports whether an error is one that damage may end in.
func known(err error) bool {
	for _, kind := range []error{
		corrupt.ErrCorrupt, corrupt.ErrUnsupported, urlresolve.ErrRefused, blobio.ErrNotFound, blobio.ErrRange,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// rows are what a shard reads to.
type rows struct {
	n      int64
	hash   uint64
	capped bool
	// sample is the first batch, nil if there is none.
	sample arrow.RecordBatch
}

// cat reads a shard as the command does, up to rowLimit rows.
func cat(s *mutant.Shard, maxMemory int64) (*rows, error) {
	ctx := context.Background()
	shard, err := shardfmt.Open(ctx, s.Store(), mutant.URL, shardfmt.OpenOptions{})
	if err != nil {
		return nil, err
	}
	types, err := shard.Project(ctx, nil, false)
	if err != nil {
		return nil, err
	}
	h := xxh3.New()
	sink, err := fileio.NewSink(fileio.NDJSON, h, types, fileio.SinkOptions{})
	if err != nil {
		return nil, err
	}
	out := &rows{}
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{MaxMemory: maxMemory, Workers: 1}) {
		if err != nil {
			return nil, err
		}
		if err := out.add(sink, b); err != nil {
			return nil, err
		}
		if out.n >= rowLimit {
			out.capped = true
			return out, nil
		}
	}
	err = sink.Close()
	out.hash = h.Sum64()
	return out, err
}

func (r *rows) add(sink fileio.Sink, b arrow.RecordBatch) error {
	if r.sample == nil {
		r.sample = b
	}
	r.n += b.NumRows()
	if err := sink.Write(b); err != nil {
		return err
	}
	if b.NumRows() == 0 {
		return nil
	}
	var row []byte
	for _, c := range b.Columns() { // what compact --check does with each
		var err error
		if row, err = rowhash.Append(row[:0], c, int(b.NumRows())-1); err != nil {
			return err
		}
	}
	return nil
}

// judge reads, verifies and inspects a mutant and reports what is wrong with that.
func (a *attack) judge(r *rand.Rand, m *mutant.Mutant, of *mutant.Shard) (v verdict) {
	v.Kind = m.Kind
	var got *rows
	catErr := v.guarded("cat", func() (err error) { got, err = cat(m.Shard, a.memory); return err })
	var report *corrupt.Report
	verifyErr := v.guarded("verify", func() (err error) {
		report, err = verify.Shard(context.Background(), m.Store(), mutant.URL, verify.Options{MaxMemory: a.memory})
		return err
	})
	whole := verifyErr == nil && report.OK
	v.Whole = whole
	inspectErr := v.guarded("inspect", func() error { return inspectAll(m.Shard) })
	admitErr := v.guarded("admit", func() error {
		shard, err := shardfmt.Open(context.Background(), m.Store(), mutant.URL, shardfmt.OpenOptions{})
		if err != nil {
			return err
		}
		defer shard.Close()
		return verify.Admit(context.Background(), m.Store(), shard, verify.AdmitOptions{MaxMemory: a.memory})
	})
	switch {
	case catErr != nil && whole:
		v.fault(faultUnread, "%v", catErr)
	case catErr == nil && whole && inspectErr != nil:
		v.fault(faultInspect, "%v", inspectErr)
	case admitErr == nil && errors.Is(catErr, shardfmt.ErrBudget):
		v.fault(faultPoison, "%v", catErr)
	}
	if catErr != nil {
		v.Outcome = refused
		return v
	}
	a.compare(&v, m, of, got, whole)
	if whole && got.sample != nil && !got.capped {
		err := v.guarded("where", func() error { return a.probe(r, &v, m, got) })
		if err != nil {
			v.fault(faultUnread, "with a filter: %v", err)
		}
	}
	return v
}

// compare holds the rows of a mutant to those of the shard it was made of.
func (a *attack) compare(v *verdict, m *mutant.Mutant, of *mutant.Shard, got *rows, whole bool) {
	v.Rows, v.Outcome = got.n, otherRows
	if got.hash == a.rowsOf(of) && !got.capped {
		v.Outcome = sameRows
	}
	if m.Mended {
		return
	}
	if v.Outcome == otherRows {
		v.fault(faultSilent, "%d rows", got.n)
	} else if whole && a.own[of.Name] {
		v.fault(faultMissed, "%s", m.What)
	}
}

// rowsOf is the hash of the rows of a whole shard.
func (a *attack) rowsOf(s *mutant.Shard) uint64 {
	if h, ok := a.hashes[s.Name]; ok {
		return h
	}
	r, err := cat(s, a.memory)
	if err != nil {
		panic(fmt.Sprintf("the corpus holds %s, which can't be read: %v", s.Name, err))
	}
	a.hashes[s.Name] = r.hash
	return r.hash
}

// inspectAll describes a shard in all detail, as text and as JSON.
func inspectAll(s *mutant.Shard) error {
	x, err := inspect.Shard(context.Background(), s.Store(), mutant.URL, inspect.Options{Detail: inspect.Blocks})
	if err != nil {
		return err
	}
	x.Print(io.Discard)
	_, err = json.Marshal(x)
	return err
}
