package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/urlresolve"
)

// ErrNoDataset is a folder without a manifest.
var ErrNoDataset = fmt.Errorf("not a Lance dataset: no manifest in _versions: %w", blobio.ErrNotFound)

// ErrNoVersion is a version or tag that a dataset doesn't have, or no longer.
var ErrNoVersion = errors.New("the dataset has no such version or tag")

// manifestNames are the names of a version in both schemes, the newer one first.
func manifestNames(version uint64) [2]string {
	return [2]string{fmt.Sprintf("_versions/%020d.manifest", math.MaxUint64-version), fmt.Sprintf("_versions/%d.manifest", version)}
}

// versionOf is the version of a manifest by its name; ok is false for other files and for detached versions.
func versionOf(name string) (version uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".manifest")
	v, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return 0, false
	}
	if len(digits) == 20 {
		return math.MaxUint64 - v, true
	}
	return v, true
}

// Versions lists the versions of the dataset at url, in rising order: one listing.
func Versions(ctx context.Context, st fileformat.Store, url string) ([]uint64, error) {
	var out []uint64
	for info, err := range st.List(ctx, strings.TrimSuffix(url, "/")+"/_versions/") {
		if errors.Is(err, blobio.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		if v, ok := versionOf(path.Base(info.Key)); ok {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Tags lists the names of versions.
func Tags(ctx context.Context, st fileformat.Store, url string) (map[string]uint64, error) {
	out := map[string]uint64{}
	for info, err := range st.List(ctx, strings.TrimSuffix(url, "/")+"/_refs/tags/") {
		if errors.Is(err, blobio.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(path.Base(info.Key), ".json")
		if !ok {
			continue
		}
		if out[name], err = readTag(ctx, st, info.URL); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxTag bounds what a tag states, in bytes.
const maxTag = 64 << 10

func readTag(ctx context.Context, st fileformat.Store, url string) (uint64, error) {
	b, info, err := st.ReadSuffix(ctx, url, maxTag)
	if err != nil {
		return 0, err
	}
	var tag struct {
		Branch  *string `json:"branch"`
		Version uint64  `json:"version"`
	}
	if err := json.Unmarshal(b, &tag); err != nil || info.Size > maxTag {
		return 0, corrupt.Locate(&corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 0, What: "a tag that is not JSON", Err: err}, url, 0)
	}
	if tag.Branch != nil {
		return 0, corrupt.Locate(corrupt.Unsupported(0, "a tag of branch %q", *tag.Branch), url, 0)
	}
	return tag.Version, nil
}

// find reads the manifest of a version: the newest if wanted is empty, else one by its number or the name of a tag.
func find(ctx context.Context, st fileformat.Store, url, wanted string) (*manifest, string, error) {
	if wanted == "" {
		all, err := Versions(ctx, st, url)
		if err != nil {
			return nil, "", err
		}
		if len(all) == 0 {
			return nil, "", fmt.Errorf("%s: %w", url, ErrNoDataset)
		}
		return findVersion(ctx, st, url, all[len(all)-1])
	}
	v, err := strconv.ParseUint(wanted, 10, 64)
	if err != nil && (strings.ContainsAny(wanted, "/\\") || wanted[0] == '.') {
		return nil, "", noVersion(ctx, st, url, wanted)
	}
	if err != nil {
		v, err = readTag(ctx, st, url+"/_refs/tags/"+urlresolve.EscapeKey(wanted)+".json")
		if errors.Is(err, blobio.ErrNotFound) {
			return nil, "", noVersion(ctx, st, url, wanted)
		}
		if err != nil {
			return nil, "", err
		}
	}
	m, at, err := findVersion(ctx, st, url, v)
	if errors.Is(err, blobio.ErrNotFound) {
		return nil, "", noVersion(ctx, st, url, wanted)
	}
	return m, at, err
}

// noVersion reports which versions there are.
func noVersion(ctx context.Context, st fileformat.Store, url, wanted string) error {
	all, err := Versions(ctx, st, url)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return fmt.Errorf("%s: %w", url, ErrNoDataset)
	}
	return &fileformat.OptionError{Name: optionVersion, Value: wanted, What: fmt.Sprintf("%v; available: versions %d to %d", ErrNoVersion, all[0], all[len(all)-1])}
}

func findVersion(ctx context.Context, st fileformat.Store, url string, version uint64) (m *manifest, at string, err error) {
	for _, name := range manifestNames(version) {
		at = url + "/" + name
		if m, err = readManifest(ctx, st, at); !errors.Is(err, blobio.ErrNotFound) {
			break
		}
	}
	if err == nil && m.version != version {
		err = corrupt.Locate(corrupt.At(0, "version %d in the manifest of version %d", m.version, version), at, 0)
	}
	return m, at, err
}
