package mutant

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
)

// RootName is the name of a shard's root among its objects.
const RootName = "shard.amudai.shard"

// folder is where a Shard's objects lie in its Store.
const folder = "mem://attack/shard/"

// URL is the root's place in a Store.
const URL = folder + RootName

// Shard is a shard as the bytes of its objects, by their names.
type Shard struct {
	Name    string
	Objects map[string][]byte
}

// Load reads a shard from a folder that holds its root, under RootName, and its stripes.
func Load(dir string) (*Shard, error) {
	s := &Shard{Name: filepath.Base(dir), Objects: map[string][]byte{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".amudai.shard") && !strings.HasSuffix(e.Name(), ".amudai.stripe") {
			continue
		}
		if s.Objects[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Save writes the objects to a new folder.
func (s *Shard) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range s.Objects {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Size is the number of bytes of all objects.
func (s *Shard) Size() (n int64) {
	for _, b := range s.Objects {
		n += int64(len(b))
	}
	return n
}

// names of the objects in order.
func (s *Shard) names() []string { return slices.Sorted(maps.Keys(s.Objects)) }

// with is the shard with other bytes of one object; s stays as it is.
func (s *Shard) with(name string, data []byte) *Shard {
	out := &Shard{Name: s.Name, Objects: maps.Clone(s.Objects)}
	out.Objects[name] = data
	return out
}

// Store gives the objects to readers, at URL.
func (s *Shard) Store() Store { return Store{s.Objects} }

// Store is the objects of one shard in memory. It is all that reading, verifying and inspecting request.
type Store struct{ objects map[string][]byte }

func (s Store) object(url string) ([]byte, blobio.Info, error) {
	name, ok := strings.CutPrefix(url, folder)
	b, there := s.objects[name]
	if !ok || !there {
		return nil, blobio.Info{}, blobio.NewError("read", url, blobio.ErrNotFound, nil)
	}
	return b, blobio.Info{URL: url, Size: int64(len(b)), ETag: "1"}, nil
}

// Stat reports about an object.
func (s Store) Stat(_ context.Context, url string) (blobio.Info, error) {
	_, info, err := s.object(url)
	return info, err
}

// ReadRange fills dst with the bytes from off on.
func (s Store) ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	b, info, err := s.object(url)
	switch {
	case err != nil:
		return info, err
	case ctx.Err() != nil:
		return info, ctx.Err()
	case off < 0 || off > info.Size || int64(len(dst)) > info.Size-off:
		return info, blobio.NewError("read", url, blobio.ErrRange, nil)
	}
	copy(dst, b[off:])
	return info, nil
}

// ReadSuffix returns the last bytes.
func (s Store) ReadSuffix(_ context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	b, info, err := s.object(url)
	if err != nil {
		return nil, info, err
	}
	return slices.Clone(b[info.Size-min(n, info.Size):]), info, nil
}

// ReadRanges reads many ranges; each must exist before memory is taken for it.
func (s Store) ReadRanges(_ context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	b, info, err := s.object(url)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		if r.Start < 0 || r.End < r.Start || r.End > info.Size {
			return nil, blobio.NewError("read", url, blobio.ErrRange, nil)
		}
		out[i] = slices.Clone(b[r.Start:r.End])
	}
	return out, nil
}
