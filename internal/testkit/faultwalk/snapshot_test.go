package faultwalk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// snapshot is a state that a world returns to: all objects by URL, a copy of the catalog's folder, and the shards that were verified.
type snapshot struct {
	objects  map[string][]byte
	kept     string
	verified map[string]bool
}

// stored is an object of the store whose bytes are known.
type stored struct {
	etag string
	text []byte
}

// straight mounts the store, or the copy of it that is observed.
func (w *world) straight(t *testing.T, client *blobio.Client) {
	t.Helper()
	if w.copied == nil {
		w.store.straight(t, client)
		return
	}
	if err := client.MountBucket(rootOf(w.store.root), unclosed{w.copied}); err != nil {
		t.Fatal(err)
	}
}

// unclosed is a bucket that outlives the clients that mount it.
type unclosed struct{ *memblob.Bucket }

// Close implements blobio.Bucket.
func (unclosed) Close() error { return nil }

// rootOf is the root of the bucket of a URL.
func rootOf(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/"
}

// list gives the ETags of all objects.
func (w *world) list(t *testing.T, client *blobio.Client) map[string]string {
	t.Helper()
	etags := map[string]string{}
	for _, folder := range w.store.folders {
		for info, err := range client.List(t.Context(), folder) {
			if err != nil {
				t.Fatal(err)
			}
			etags[info.URL] = info.ETag
		}
	}
	return etags
}

// save makes a snapshot of the store and of the catalog, and the world's next reset returns to it.
func (w *world) save(t *testing.T) *snapshot {
	t.Helper()
	client := newSpace()
	defer client.Close()
	w.store.straight(t, client)
	w.saved++
	s := &snapshot{objects: map[string][]byte{}, kept: fmt.Sprint(w.catalog, "-", w.saved)}
	w.etags, w.known = w.list(t, client), map[string]stored{}
	for url, etag := range w.etags {
		text, _, err := client.ReadAll(t.Context(), url, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		s.objects[url], w.known[url] = text, stored{etag, text}
	}
	if w.store.restore == nil {
		if err := os.CopyFS(s.kept, os.DirFS(w.catalog)); err != nil {
			t.Fatal(err)
		}
	}
	w.start = s
	return s
}

// reset makes everything as it was in the snapshot w.start.
func (w *world) reset(t *testing.T) {
	t.Helper()
	w.copied = nil
	client := newSpace()
	defer client.Close()
	w.store.straight(t, client)
	w.etags = w.list(t, client)
	changed := false
	for url, etag := range w.etags {
		known := w.known[url]
		want, kept := w.start.objects[url]
		if kept && etag != "" && known.etag == etag && bytes.Equal(known.text, want) {
			continue
		}
		if err := client.Delete(t.Context(), url, ""); err != nil {
			t.Fatal(err)
		}
		delete(w.etags, url)
		changed = true
	}
	for url, text := range w.start.objects {
		if _, there := w.etags[url]; there {
			continue
		}
		if err := client.Put(t.Context(), url, text); err != nil {
			t.Fatal(err)
		}
		changed = true
	}
	if changed {
		w.etags = w.list(t, client)
		w.known = map[string]stored{}
		for url, etag := range w.etags {
			w.known[url] = stored{etag, w.start.objects[url]}
		}
	}
	w.verified = maps.Clone(w.start.verified)
	if w.store.restore != nil {
		w.store.restore(t)
		return
	}
	if err := errors.Join(os.RemoveAll(w.catalog), os.CopyFS(w.catalog, os.DirFS(w.start.kept))); err != nil {
		t.Fatal(err)
	}
}

// look lists the store as a run left it and reports whether that is byte for byte the snapshot of the last reset. A store behind a server
// is copied into memory, where the observations and the next run take place: of its objects each new one is read once.
func (w *world) look(t *testing.T) (same bool) {
	t.Helper()
	client := newSpace()
	defer client.Close()
	w.store.straight(t, client)
	now := w.list(t, client)
	same = maps.Equal(now, w.etags) && w.catalogSame(t)
	w.trust(now)
	if !w.store.remote || same {
		return same
	}
	copied := memblob.New()
	for url, etag := range now {
		text := w.known[url].text
		if etag == "" || w.known[url].etag != etag {
			var err error
			if text, _, err = client.ReadAll(t.Context(), url, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		copied.Replace(strings.TrimPrefix(url, rootOf(w.store.root)), text)
	}
	w.copied = copied
	local := newSpace()
	defer local.Close()
	w.straight(t, local)
	w.etags = w.list(t, local)
	return false
}

// trust takes a list for that of the verified shards, which are to be verified again if any object was deleted or replaced.
func (w *world) trust(now map[string]string) {
	for url, etag := range w.etags {
		if there, ok := now[url]; !ok || etag == "" || there != etag {
			w.verified = nil
			break
		}
	}
	w.etags = now
	if w.verified == nil {
		w.verified = map[string]bool{}
	}
}

// catalogSame reports whether the catalog's folder is as the snapshot has it; where the catalog is a server nobody knows.
func (w *world) catalogSame(t *testing.T) bool {
	t.Helper()
	if w.store.restore != nil {
		return false
	}
	files := func(dir string) map[string]string {
		out := map[string]string{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, path))
			out[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return maps.Equal(files(w.catalog), files(w.start.kept))
}

// varying are the parts of names and records that differ between runs that do the same: ids and times.
var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|[0-9]{10,}`)

// form is what the world has besides its snapshot, without ids and times: the names of all objects that are new or replaced, the text of those
// that are JSON and the size of those that have checksums, and the names of those that are missing. Avro files are compressed, and their
// content is in the state. The next run of a command does the same from two states of one form.
func (w *world) form(t *testing.T) string {
	t.Helper()
	client := newSpace()
	defer client.Close()
	w.straight(t, client)
	var parts []string
	now := w.list(t, client)
	for url, etag := range now {
		if known := w.known[url]; w.copied == nil && known.etag == etag && etag != "" {
			continue
		}
		text, _, err := client.ReadAll(t.Context(), url, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(text, w.start.objects[url]) {
			continue
		}
		part := varying.ReplaceAllString(url, "#")
		switch {
		case strings.HasSuffix(url, ".json"):
			part += varying.ReplaceAllString(string(text), "#")
		case !strings.HasSuffix(url, ".avro"):
			part += fmt.Sprint(" ", len(text))
		}
		parts = append(parts, part)
	}
	for url := range w.start.objects {
		if _, there := now[url]; !there {
			parts = append(parts, "missing "+url)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}
