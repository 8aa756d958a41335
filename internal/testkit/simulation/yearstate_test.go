//go:build unix

package simulation

import (
	"bufio"
	"cmp"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// A year takes more than an hour of a processor, so it can be lived in parts: where SHARDCAT_YEAR_STATE names a folder, the state
// is written to it every thirty days and when the process gets SIGTERM, each time at the end of a day, and the next process goes on
// from there, at the same virtual time. For the table it is as if everybody's machine had been switched off for a moment: the service
// ends in order and starts again, and states that readers hold are read before it.

// yearState is what goes into year.json; objects.zst has the store. Beside them lies catalog.db, the same all the time: only the
// head of a table changes.
type yearState struct {
	Appends, Killed, Lives, Conflicts, Parts int
	Virtual                                  time.Duration // since the beginning
	Real                                     time.Duration // taken so far
	Random                                   []byte
	Location                                 string // of the table's metadata
	Commits                                  int
}

// storedObject is an object of the store.
type storedObject struct {
	Key     string
	Written time.Duration // since the beginning
	Data    []byte
}

// savedEvery is how many days lie between two states that are written without being requested.
const savedEvery = 30

// askedToEnd is set by SIGTERM. The signal comes outside of virtual time.
func askedToEnd() *atomic.Bool {
	asked, signals := new(atomic.Bool), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() { <-signals; asked.Store(true) }()
	return asked
}

// save writes the state after so many appends. Nobody may be at work.
func (y *year) save(appends int) {
	y.Helper()
	random, err := y.source.MarshalBinary()
	y.must(err)
	y.saveObjects(filepath.Join(y.state, "objects.zst.new"))
	text, err := json.Marshal(yearState{appends, y.killed, y.lives, y.conflicts, y.parts, time.Since(y.began), y.real(), random, y.heads.location, y.heads.commits})
	y.must(err)
	y.must(os.WriteFile(filepath.Join(y.state, "year.json.new"), text, 0o644))
	for _, f := range []string{"objects.zst", "year.json"} {
		y.must(os.Rename(filepath.Join(y.state, f+".new"), filepath.Join(y.state, f)))
	}
}

func (y *year) saveObjects(path string) {
	y.Helper()
	store := memblob.Open(y.bucket)
	var infos []blobio.Info
	for info, err := range store.List(y.Context(), "", blobio.ListOptions{}) {
		y.must(err)
		infos = append(infos, info)
	}
	slices.SortStableFunc(infos, func(a, b blobio.Info) int { return cmp.Compare(a.ModTime.UnixNano(), b.ModTime.UnixNano()) })
	f, err := os.Create(path)
	y.must(err)
	defer f.Close()
	packed, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	y.must(err)
	out := gob.NewEncoder(packed)
	for _, info := range infos {
		data, _, err := store.ReadSuffix(y.Context(), info.Key, info.Size, blobio.ReadOptions{})
		y.must(err)
		y.must(out.Encode(storedObject{info.Key, info.ModTime.Sub(y.began), data}))
	}
	y.must(packed.Close())
	y.must(f.Close())
}

// keep puts the catalog where it stays between the parts.
func (y *year) keep() {
	y.Helper()
	y.must(os.MkdirAll(y.state, 0o755))
	var err error
	y.dir, err = filepath.Abs(y.state) // a vault knows its catalog by this name
	y.must(err)
	if y.saved() == nil {
		y.must(os.RemoveAll(filepath.Join(y.dir, "catalog.db")))
	}
}

// saved returns the state that an earlier part left, nil if there is none.
func (y *year) saved() *yearState {
	y.Helper()
	if y.state == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(y.state, "year.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	y.must(err)
	s := new(yearState)
	y.must(json.Unmarshal(text, s))
	return s
}

// restore makes everything as it was when the state was written.
func (y *year) restore(s *yearState) {
	y.Helper()
	y.killed, y.lives, y.conflicts, y.parts = s.Killed, s.Lives, s.Conflicts, s.Parts+1
	y.before = s.Real
	y.must(y.source.UnmarshalBinary(s.Random))

	f, err := os.Open(filepath.Join(y.state, "objects.zst"))
	y.must(err)
	defer f.Close()
	packed, err := zstd.NewReader(bufio.NewReader(f), zstd.WithDecoderConcurrency(1))
	y.must(err)
	defer packed.Close()
	in := gob.NewDecoder(packed)
	store := memblob.Open(y.bucket)
	for {
		var o storedObject
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else {
			y.must(err)
		}
		time.Sleep(o.Written - time.Since(y.began)) // so that it is as old as it was
		store.Replace(o.Key, o.Data)
	}
	time.Sleep(s.Virtual - time.Since(y.began))
	meta, _, err := y.heads.client.ReadAll(y.Context(), s.Location, 1<<30)
	y.must(err)
	y.heads.meta, err = table.ParseMetadataBytes(meta)
	y.must(err)
	y.heads.location, y.heads.commits = s.Location, s.Commits
	y.Logf("goes on after %d appends; part %d", s.Appends, y.parts+1)
}

// newRandom gives a source whose state can be written.
func (y *year) newRandom() {
	y.source = rand.NewPCG(1, 525_600)
	y.r = rand.New(y.source)
}
