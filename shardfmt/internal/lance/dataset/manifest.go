package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"path"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
	"github.com/shardcat/shardcat/shardfmt/internal/protoscan"
)

// manifest is one version of a dataset.
type manifest struct {
	fields    []lance.Field
	metadata  map[string]string
	fragments []fragment
	version   uint64
	written   time.Time
	writer    string
	features  uint64 // that a reader must know
	storage   string // version of the data files, as text
	bases     int    // other places that hold files
	branch    string
}

// fragment is a range of rows.
type fragment struct {
	id       uint64
	files    []dataFile
	deleted  *deletionFile
	physical uint64 // rows, deleted ones among them
}

// rows are those that are not deleted, as the manifest states.
func (f *fragment) rows() uint64 {
	if f.deleted == nil {
		return f.physical
	}
	return f.physical - f.deleted.rows
}

// dataFile is a file and the ids of the fields that are read from it; -2 stands for those that no longer are.
type dataFile struct {
	path         string
	fields       []int32
	major, minor uint64
	size         uint64 // in bytes, 0 where the manifest does not state
	base         bool   // it lies elsewhere
}

// deletionFile is where the deleted rows of a fragment are listed.
type deletionFile struct {
	bitmap      bool
	readVersion uint64
	id          uint64
	rows        uint64
	base        bool
}

// Features of a manifest that a reader must know.
const (
	featureDeletions  = 1 << 0
	featureRowIDs     = 1 << 1 // rows keep their ids; we show none
	featureVersion2   = 1 << 2
	featureConfig     = 1 << 3
	featureBases      = 1 << 4
	featureNoTransact = 1 << 5 // transactions have no file of their own
	knownFeatures     = featureDeletions | featureRowIDs | featureVersion2 | featureConfig | featureNoTransact
)

// Sizes of a manifest's end, in bytes.
const (
	manifestFooter = 16
	manifestTail   = 64 << 10 // what is read first
	maxManifest    = 1 << 30
)

// readManifest reads a manifest: one request, or two if it is longer than 64 KiB.
func readManifest(ctx context.Context, st fileformat.Store, url string) (*manifest, error) {
	tail, info, err := st.ReadSuffix(ctx, url, manifestTail)
	if err != nil {
		return nil, err
	}
	at, err := messageAt(tail, info.Size)
	if err == nil && at < info.Size-int64(len(tail)) {
		tail = make([]byte, info.Size-at)
		if _, err := st.ReadRange(ctx, url, at, tail); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, corrupt.Locate(err, url, 0)
	}
	body := tail[int64(len(tail))-(info.Size-at) : len(tail)-manifestFooter]
	m, err := parseManifest(body)
	return m, corrupt.Locate(err, url, at)
}

// messageAt is where the message of a manifest of size bytes begins.
func messageAt(tail []byte, size int64) (int64, error) {
	if len(tail) < manifestFooter+4 || string(tail[len(tail)-4:]) != "LANC" {
		return 0, corrupt.At(max(size-4, 0), "a manifest without footer")
	}
	at := binary.LittleEndian.Uint64(tail[len(tail)-manifestFooter:])
	if at > uint64(size-manifestFooter-4) || size-int64(at) > maxManifest {
		return 0, corrupt.At(size-manifestFooter, "a message at offset %d of a manifest of %d bytes", at, size)
	}
	return int64(at), nil
}

// parseManifest reads length and message.
func parseManifest(b []byte) (*manifest, error) {
	if n := binary.LittleEndian.Uint32(b); uint64(n) > uint64(len(b)-4) {
		return nil, corrupt.At(0, "a message of %d bytes in %d", n, len(b)-4)
	} else {
		b = b[4 : 4+n]
	}
	m := &manifest{metadata: map[string]string{}}
	if err := protoscan.Each(b, m.field); err != nil {
		return nil, damage(err)
	}
	return m, m.check()
}

// damage makes an error of the walk over a message one of stored data.
func damage(err error) error {
	if isDamage(err) {
		return err
	}
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 0, What: "invalid message in a manifest", Err: err}
}

func (m *manifest) field(n protowire.Number, v uint64, body []byte) (err error) {
	switch n {
	case 1:
		var f lance.Field
		f, err = lance.ParseField(body)
		m.fields = append(m.fields, f)
	case 2:
		var f fragment
		f, err = parseFragment(body)
		m.fragments = append(m.fragments, f)
	case 3:
		m.version = v
	case 5:
		var key string
		var value []byte
		key, value, err = protoscan.Entry(body)
		m.metadata[key] = string(value)
	case 7:
		err = protoscan.Each(body, func(n protowire.Number, v uint64, _ []byte) error {
			if n == 1 {
				m.written = time.Unix(int64(v), 0).UTC()
			}
			return nil
		})
	case 9:
		m.features = v
	case 13:
		var name string
		var version []byte
		name, version, err = protoscan.Entry(body) // two texts, 1 and 2
		m.writer = strings.TrimSpace(name + " " + string(version))
	case 15:
		var storage []byte
		_, storage, err = protoscan.Entry(body)
		m.storage = string(storage)
	case 18:
		m.bases++
	case 20:
		m.branch = string(body)
	}
	return err
}

func parseFragment(b []byte) (f fragment, err error) {
	err = protoscan.Each(b, func(n protowire.Number, v uint64, body []byte) (err error) {
		switch n {
		case 1:
			f.id = v
		case 2:
			var d dataFile
			d, err = parseDataFile(body)
			f.files = append(f.files, d)
		case 3:
			f.deleted, err = parseDeletion(body)
		case 4:
			f.physical = v
		}
		return err
	})
	return f, err
}

func parseDataFile(b []byte) (d dataFile, err error) {
	var ids []uint64
	err = protoscan.Each(b, func(n protowire.Number, v uint64, body []byte) (err error) {
		switch n {
		case 1:
			d.path = string(body)
		case 2:
			ids, err = protoscan.Varints(ids, v, body)
		case 4:
			d.major = v
		case 5:
			d.minor = v
		case 6:
			d.size = v
		case 7:
			d.base = true
		}
		return err
	})
	for _, id := range ids {
		d.fields = append(d.fields, int32(id))
	}
	return d, err
}

func parseDeletion(b []byte) (*deletionFile, error) {
	d := &deletionFile{}
	return d, protoscan.Each(b, func(n protowire.Number, v uint64, _ []byte) error {
		switch n {
		case 1:
			if v > 1 {
				return corrupt.Unsupported(0, "deletions of kind %d", v)
			}
			d.bitmap = v == 1
		case 2:
			d.readVersion = v
		case 3:
			d.id = v
		case 4:
			d.rows = v
		case 7:
			d.base = true
		}
		return nil
	})
}

// name of the deletion file of a fragment, below the dataset.
func (d *deletionFile) name(fragment uint64) string {
	ending := "arrow"
	if d.bitmap {
		ending = "bin"
	}
	return fmt.Sprintf("_deletions/%d-%d-%d.%s", fragment, d.readVersion, d.id, ending)
}

// check refuses by name what is not read, and what contradicts itself.
func (m *manifest) check() error {
	if m.features&featureBases != 0 || m.bases > 0 {
		return corrupt.Unsupported(0, "a dataset with files at several base paths (a shallow clone or several stores)")
	}
	if unknown := m.features &^ knownFeatures; unknown != 0 {
		return corrupt.Unsupported(0, "a dataset with unsupported reader features %#x", unknown)
	}
	if m.branch != "" {
		return corrupt.Unsupported(0, "branch %q of a dataset", m.branch)
	}
	total := uint64(0)
	for i := range m.fragments {
		f := &m.fragments[i]
		if err := f.check(); err != nil {
			return err
		}
		if total += f.physical; total > 1<<62 {
			return corrupt.At(0, "fragments of more than 2^62 rows")
		}
	}
	return nil
}

func (f *fragment) check() error {
	if f.physical > 1<<32 {
		return corrupt.At(0, "fragment %d of %d rows", f.id, f.physical)
	}
	if d := f.deleted; d != nil && (d.rows > f.physical || d.base) {
		return corrupt.At(0, "fragment %d of %d rows, of which %d are deleted", f.id, f.physical, d.rows)
	}
	if len(f.files) > 0 && f.physical == 0 {
		return corrupt.Unsupported(0, "fragment %d without a number of rows", f.id)
	}
	if len(f.files) == 0 && f.physical > 0 {
		return corrupt.At(0, "fragment %d of %d rows without a data file", f.id, f.physical)
	}
	for _, d := range f.files {
		switch v := [2]uint64{d.major, d.minor}; {
		case v == [2]uint64{0, 3} || v == [2]uint64{2, 0} || v == [2]uint64{2, 1} || v == [2]uint64{2, 2}:
		case d.major == 0 && d.minor < 3:
			return corrupt.Unsupported(0, "%q is a data file of the legacy version 0.%d: compact the dataset with data_storage_version=\"2.1\"", d.path, d.minor)
		default:
			return corrupt.Unsupported(0, "%q is a data file of version %d.%d (supported: 2.0, 2.1, 2.2): write the dataset with data_storage_version=\"2.1\"", d.path, d.major, d.minor)
		}
		if d.base {
			return corrupt.Unsupported(0, "%q is at another base path", d.path)
		}
		if d.path == "" || path.Clean("/"+d.path) != "/"+d.path || strings.Contains(d.path, "\\") {
			return corrupt.At(0, "%q is not the name of a data file", d.path)
		}
	}
	return nil
}
