// Package storecheck examines whether an object store can be trusted with tables: that it may be read and
// written, that ranges are exact, that an object is created only where there is none, that what was written
// is listed, that deletes delete, and that its clock is near ours. Each finding is one line that reports what is
// wrong and what to do.
//
// It writes below PREFIX/_doctor/<random>/ and deletes what it wrote. What each check proves:
//
//	mount        the URL names a bucket, there is a driver for it, and its options make sense
//	list         keys can be listed
//	write        an object can be created
//	read         it reads back byte for byte
//	ranges       a range is exactly what was requested, a suffix comes, past the end is an error
//	pinned       a read for another version of the object is refused, so a replaced object is seen
//	conditional  a second create of the same key is refused, also by eight writers at once
//	multipart    an object goes up in parts, and a second upload to the same key is refused
//	checksum     an object that arrives with another checksum than it was sent with is refused
//	listed       the object is in the list at once, and a list in pages of one key is whole
//	clock        the store's clock and ours agree
//	throughput   how long the first byte takes and how many bytes come per second; never a failure
//	delete       an object can be deleted
package storecheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/urlresolve"
)

// Status is how a check ended.
type Status string

// The ends of a check.
const (
	OK      Status = "ok"
	Warning Status = "warning" // works, but not as it should
	Failed  Status = "failed"
	Skipped Status = "skipped" // an earlier check that it needs has failed
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	// What was found, on one line.
	What string `json:"what"`
	// Do reports what to do about it; empty where nothing is to be done.
	Do string `json:"do,omitempty"`
	// Unsafe: writers of one key may overwrite each other. Who has one single writer may go on all the same.
	Unsafe bool `json:"unsafe,omitempty"`
}

// String is the finding as one line for a person.
func (f Finding) String() string {
	line := fmt.Sprintf("%-7s %-11s %s", f.Status, f.Check, f.What)
	if f.Do != "" {
		line += ": " + f.Do
	}
	return line
}

// Report is what was found out about a store.
type Report struct {
	// Location is the canonical URL that was examined; empty if it could not be opened.
	Location string    `json:"location"`
	Findings []Finding `json:"findings"`
	// Healthy: no check failed.
	Healthy bool `json:"healthy"`
	// SafeWrites: creates are conditional. Without it two writers of one key may both believe to have won.
	SafeWrites bool `json:"safe_writes"`
}

// Options of an examination; the zero value is valid.
type Options struct {
	// LargeBytes is the size of the object that goes up in parts, DefaultLargeBytes if 0.
	LargeBytes int
	// Accept, if not nil, reports whether tables may lie at the canonical URL that is examined.
	Accept func(location string) error
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// The numbers of an examination.
const (
	// defaultLargeBytes is more than one part of any driver (8 MiB).
	defaultLargeBytes = 9 << 20
	// writers race for one key.
	writers = 8
	// smallBytes is the size of the object for ranges.
	smallBytes = 64 << 10
	// skewWarning is a clock difference that confuses ages and leases; skewFailure one at which S3 refuses
	// signatures.
	skewWarning, skewFailure = 30 * time.Second, 15 * time.Minute
	// cleanup bounds the deletes at the end, also of a cancelled examination.
	cleanup = 30 * time.Second
	// slowest bounds the reads whose rate is measured.
	slowest = 30 * time.Second
)

// examination is one run.
type examination struct {
	client *blobio.Client
	prefix string // of all objects that are written
	opts   Options
	report *Report
	small  []byte
	info   blobio.Info // of the small object
	made   []string    // what to delete
	failed map[string]bool
}

// Examine runs all checks on the warehouse at rawURL, with its options. It writes nothing outside of
// _doctor/ there. The report is complete whatever fails; a cancelled ctx fails the checks that are left.
func Examine(ctx context.Context, client *blobio.Client, rawURL string, opts Options) *Report {
	if opts.LargeBytes == 0 {
		opts.LargeBytes = defaultLargeBytes
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	e := &examination{client: client, opts: opts, report: &Report{}, failed: map[string]bool{}}
	e.small = make([]byte, smallBytes)
	rand.Read(e.small)
	e.check(ctx, "mount", "", func(ctx context.Context) Finding { return e.mount(ctx, rawURL) })
	e.check(ctx, "list", "mount", e.list)
	e.check(ctx, "write", "mount", e.write)
	e.check(ctx, "read", "write", e.read)
	e.check(ctx, "ranges", "read", e.ranges)
	e.check(ctx, "pinned", "read", e.pinned)
	e.check(ctx, "conditional", "read", e.conditional)
	e.check(ctx, "multipart", "read", e.multipart)
	e.check(ctx, "checksum", "write", e.checksum)
	e.check(ctx, "listed", "write", e.listed)
	e.check(ctx, "clock", "read", e.clock)
	e.check(ctx, "throughput", "multipart", e.throughput)
	e.check(ctx, "delete", "write", e.remove)
	e.tidy(ctx)
	e.report.Healthy = len(e.failed) == 0
	e.report.SafeWrites = !e.failed["write"] && !e.failed["conditional"] && !e.failed["multipart"]
	return e.report
}

// check runs one check, unless the one it needs did not succeed.
func (e *examination) check(ctx context.Context, name, needs string, run func(context.Context) Finding) {
	f := Finding{Status: Skipped, What: needs + " did not succeed"}
	if !e.failed[needs] {
		f = run(ctx)
	}
	f.Check = name
	if f.Status == Failed || f.Status == Skipped {
		e.failed[name] = true
	}
	e.report.Findings = append(e.report.Findings, f)
}

func fine(format string, args ...any) Finding {
	return Finding{Status: OK, What: fmt.Sprintf(format, args...)}
}

// unsafe is the finding that creates are not conditional.
func unsafe(what string) Finding {
	return Finding{Status: Failed, What: what, Do: noConditions, Unsafe: true}
}

func wrong(what, do string) Finding { return Finding{Status: Failed, What: what, Do: do} }

func (e *examination) mount(ctx context.Context, rawURL string) Finding {
	location, err := e.client.Mount(ctx, rawURL)
	if err != nil {
		return wrong(err.Error(), "correct the URL or its options, see docs/guides/object-stores.md")
	}
	var id [8]byte
	rand.Read(id[:])
	e.report.Location = location
	e.prefix = strings.TrimSuffix(location, "/") + "/_doctor/" + hex.EncodeToString(id[:]) + "/"
	if e.opts.Accept != nil {
		if err := e.opts.Accept(strings.TrimSuffix(location, "/")); err != nil {
			return wrong(err.Error(), "choose another folder or prefix; no tables can be created here")
		}
	}
	limits, err := e.client.Limits(ctx, location)
	switch {
	case err != nil:
		return wrong(err.Error(), "correct the URL or its options, see docs/guides/object-stores.md")
	case len(limits) > 0:
		return Finding{Status: Warning, What: location + " by a driver without hooks: " + strings.Join(limits, "; "),
			Do: "mount it by FromBucket of the package of its provider, which has hooks"}
	}
	return fine("%s", location)
}

func (e *examination) list(ctx context.Context) Finding {
	for _, err := range e.client.List(ctx, e.prefix) {
		if err != nil {
			return e.refused("list", err)
		}
	}
	return fine("keys can be listed")
}

func (e *examination) write(ctx context.Context) Finding {
	if err := e.create(ctx, "small", e.small); err != nil {
		return e.refused("write", err)
	}
	return fine("an object can be created")
}

// create makes an object and notes that it is to be deleted.
func (e *examination) create(ctx context.Context, name string, data []byte) error {
	url := e.prefix + name
	e.made = append(e.made, url)
	return e.client.TryCreate(ctx, url, data, blobio.CreateOptions{})
}

func (e *examination) read(ctx context.Context) Finding {
	got, info, err := e.client.ReadAll(ctx, e.prefix+"small", smallBytes)
	switch {
	case err != nil:
		return e.refused("read", err)
	case !bytes.Equal(got, e.small):
		return wrong("the bytes read differ from the bytes written", "do not use this store; it or a proxy changes data")
	}
	e.info = info
	return fine("an object reads back byte for byte")
}

func (e *examination) listed(ctx context.Context) Finding {
	if e.failed["list"] {
		return Finding{Status: Skipped, What: "list did not succeed"}
	}
	for _, name := range []string{"page/1", "page/2"} {
		if err := e.create(ctx, name, e.small[:1]); err != nil {
			return e.refused("write", err)
		}
	}
	whole, err := e.keys(ctx, "", 0)
	if err != nil {
		return e.refused("list", err)
	}
	if whole[e.prefix+"small"] == 0 || whole[e.prefix+"page/1"] == 0 || whole[e.prefix+"page/2"] == 0 {
		return wrong("an object that was just written is not listed",
			"garbage collection would be unsafe; use a store with consistent listings")
	}
	single, err := e.keys(ctx, "page/", 1)
	switch {
	case err != nil:
		return e.refused("list", err)
	case !maps.Equal(single, map[string]int{e.prefix + "page/1": 1, e.prefix + "page/2": 1}):
		return wrong(fmt.Sprintf("a listing in pages of one key has %d of 2 objects", len(single)),
			"folders would be listed incompletely, which makes garbage collection unsafe; use a store with correct list pagination")
	}
	return fine("a written object is listed at once, also in pages of one key")
}

// keys lists what is below a folder of the prefix in pages of so many keys, and counts each key.
func (e *examination) keys(ctx context.Context, folder string, page int) (map[string]int, error) {
	keys := map[string]int{}
	for info, err := range e.client.ListPages(ctx, e.prefix+folder, page) {
		if err != nil {
			return nil, err
		}
		keys[info.URL]++
	}
	return keys, nil
}

func (e *examination) remove(ctx context.Context) Finding {
	url := e.prefix + "small"
	if err := e.client.Delete(ctx, url, ""); err != nil {
		return e.refused("delete", err)
	}
	switch _, err := e.client.Stat(ctx, url); blobio.Class(err) {
	case blobio.ErrNotFound:
	case blobio.ErrDenied:
		return wrong("missing objects can't be distinguished from forbidden ones: "+err.Error(), "grant "+e.right("list", "permission to list")+
			": without it the store refuses requests for missing objects")
	default:
		return wrong("a deleted object is still there", "look for a retention rule or object lock on the bucket")
	}
	return fine("an object can be deleted")
}

// tidy deletes what the checks made, as far as the store lets it.
func (e *examination) tidy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var left []string
	for _, url := range e.made {
		err := e.client.Delete(ctx, url, "")
		if err != nil && blobio.Class(err) != blobio.ErrNotFound {
			left = append(left, url)
		}
	}
	e.removeFolders()
	if len(left) > 0 {
		e.report.Findings = append(e.report.Findings, Finding{Check: "tidy", Status: Warning,
			What: fmt.Sprintf("%d test objects were not deleted", len(left)),
			Do:   "delete " + e.prefix})
	}
}

// removeFolders removes the empty folders that objects in a file system leave behind; object stores have none.
func (e *examination) removeFolders() {
	at, err := urlresolve.Parse(e.prefix)
	if err != nil || at.Scheme != "file" {
		return
	}
	own := filepath.FromSlash("/" + strings.TrimSuffix(at.Key(), "/"))
	_ = os.Remove(filepath.Join(own, "page"))
	_ = os.Remove(own) // what is not empty stays, as what others examine at the same time
	_ = os.Remove(filepath.Dir(own))
}
