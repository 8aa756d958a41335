package metadataio

import (
	"bytes"
	"context"
	"path"
	"sync"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/internal/parallel"
)

const (
	// aheadFiles is how many files of metadata are on their way at a time, as many as a bucket has requests in flight that are no short reads.
	aheadFiles = blobio.DefaultBucketConcurrency
	// aheadFileBytes is the most bytes of them that wait to be read: eight manifests of the size that merges fill.
	aheadFileBytes = 64 << 20
)

// ReadAhead begins to read files of a remote store. Files are kept until they were read once, or done is called.
func (m *storeIO) ReadAhead(paths []string, sizes []int64) (view iceio.IO, done func()) {
	if m.client.Nearby(m.ctx, icebergaccess.Canonical(paths[0])) {
		return m, func() {}
	}
	ctx, cancel := context.WithCancel(m.ctx)
	a := &aheadIO{storeIO: m, ctx: ctx, fork: m.client.Fork(), files: map[string]*aheadFile{}}
	for i, p := range paths {
		if _, cached := m.cache.get(icebergaccess.Canonical(p)); cached && !nocache.Is(m.ctx) || a.files[p] != nil {
			continue
		}
		f := &aheadFile{name: p, size: max(0, sizes[i]), ready: make(chan struct{})}
		a.files[p] = f
		a.queue = append(a.queue, f)
	}
	a.mu.Lock()
	a.start()
	a.mu.Unlock()
	return a, func() {
		cancel()
		a.group.Wait()
		a.fork.Join()
	}
}

// aheadIO is a storeIO that has read some files before they are requested.
type aheadIO struct {
	*storeIO
	ctx  context.Context
	fork *blobio.Fork

	group sync.WaitGroup
	mu    sync.Mutex
	files map[string]*aheadFile // that were not read yet
	queue []*aheadFile          // that were not begun, in order
	held  int                   // that were begun and not read yet
	going int                   // of those, that are on their way
	bytes int64                 // of those held
}

// aheadFile is a file on its way.
type aheadFile struct {
	name  string
	size  int64
	begun bool
	ready chan struct{} // closed when data and err are set
	data  []byte
	err   error
}

// start begins with the files that there is space for, with one in any case if none is held.
func (a *aheadIO) start() {
	for len(a.queue) > 0 && a.ctx.Err() == nil {
		f := a.queue[0]
		if !f.begun {
			if a.held > 0 && (a.going >= aheadFiles || a.bytes+f.size > aheadFileBytes) {
				return
			}
			a.begin(f)
		}
		a.queue = a.queue[1:]
	}
}

func (a *aheadIO) begin(f *aheadFile) {
	f.begun = true
	a.held++
	a.going++
	a.bytes += f.size
	of := &storeIO{ctx: a.ctx, Store: &Store{client: a.fork.Branch(), cache: a.cache, memory: a.memory}}
	a.group.Go(func() {
		defer close(f.ready)
		f.err = parallel.Guarded(func() (err error) {
			f.data, err = of.ReadFile(f.name)
			return err
		})
		a.arrived(f)
	})
}

// arrived begins with others when a file has come, though it waits for its turn: the next ones must not wait for one before it that
// is late. It counts as what it is from then on, whatever size was expected.
func (a *aheadIO) arrived(f *aheadFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.going--
	a.bytes += int64(len(f.data)) - f.size
	f.size = int64(len(f.data))
	if f.err == nil { // who reads them stops at the first that fails
		a.start()
	}
}

// ReadFile gives a file that was read before, once; others are read now.
func (a *aheadIO) ReadFile(name string) ([]byte, error) {
	a.mu.Lock()
	f := a.files[name]
	if f == nil {
		a.mu.Unlock()
		return a.storeIO.ReadFile(name)
	}
	delete(a.files, name)
	if !f.begun {
		a.begin(f)
	}
	a.mu.Unlock()
	<-f.ready
	a.mu.Lock()
	a.held--
	a.bytes -= f.size
	a.start()
	a.mu.Unlock()
	return f.data, f.err
}

// Open implements iceio.IO.
func (a *aheadIO) Open(name string) (iceio.File, error) {
	b, err := a.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &file{Reader: bytes.NewReader(b), name: path.Base(name)}, nil
}
