package meta

import (
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Magic starts and ends every object of a shard: "amud", then the version as patch, minor (two bytes,
// little-endian) and major.
var Magic = [8]byte{'a', 'm', 'u', 'd', 0, 1, 0, 0}

const (
	majorVersion = 0
	// tailFixed is what follows the directory's payload: checksum, length again, magic.
	tailFixed = 4 + 4 + 8
	// minObject is the smallest root: header, length, checksum, length, footer.
	minObject = 8 + 4 + 4 + 4 + 8
	// maxDirectory bounds the directory's payload; the reference refuses this and more.
	maxDirectory = 16 << 20
)

// checkMagic checks the eight bytes at the start or end of an object. Minor version and patch may differ,
// a later major version is not read.
func checkMagic(b []byte) error {
	if len(b) < len(Magic) || string(b[:4]) != string(Magic[:4]) {
		return corrupt.At(0, "not an Amudai object: the magic is missing")
	}
	if b[7] > majorVersion {
		return corrupt.Unsupported(7, "unsupported format version %d: the newest supported is %d", b[7], majorVersion)
	}
	return nil
}

// TailSize is how many bytes at the end of an object of objectSize bytes hold its directory, from the first
// byte of the frame to the last one of the object. suffix is the end of the object: 12 bytes or more.
// Offsets of errors are those of the object.
func TailSize(suffix []byte, objectSize int64) (int64, error) {
	if objectSize < minObject || len(suffix) < 12 || int64(len(suffix)) > objectSize {
		return 0, corrupt.At(0, "an object of %d bytes is not a shard", objectSize)
	}
	end := len(suffix) - len(Magic)
	if err := checkMagic(suffix[end:]); err != nil {
		return 0, corrupt.Locate(err, "", objectSize-int64(len(Magic)))
	}
	n := int64(binary.LittleEndian.Uint32(suffix[end-4:]))
	if n >= maxDirectory {
		return 0, corrupt.At(objectSize-12, "directory of %d bytes, not below the limit of %d", n, maxDirectory)
	}
	size := 4 + n + tailFixed
	if size+int64(len(Magic)) > objectSize {
		return 0, corrupt.At(objectSize-12, "directory of %d bytes in an object of %d", n, objectSize)
	}
	return size, nil
}

// ParseTail finds and checks the directory in the end of an object; suffix must hold at least TailSize
// bytes. It returns the directory and the range of its frame. If suffix is the whole object, the magic at
// its start is checked too. Offsets of errors are those of the object.
func ParseTail(suffix []byte, objectSize int64) (*metapb.ShardDirectory, int64, int64, error) {
	size, err := TailSize(suffix, objectSize)
	if err != nil {
		return nil, 0, 0, err
	}
	if size > int64(len(suffix)) {
		return nil, 0, 0, corrupt.At(objectSize-12, "directory of %d bytes is longer than the bytes read", size)
	}
	if int64(len(suffix)) == objectSize {
		if err := checkMagic(suffix); err != nil {
			return nil, 0, 0, err
		}
	}
	start := objectSize - size
	end := objectSize - 12
	tail := suffix[int64(len(suffix))-size:]
	if first := int64(binary.LittleEndian.Uint32(tail)); first != size-4-tailFixed {
		return nil, 0, 0, corrupt.At(start, "directory has length %d in its header and %d in its footer", first, size-4-tailFixed)
	}
	payload, err := Unframe(tail[:size-12])
	if err != nil {
		return nil, 0, 0, corrupt.Locate(err, "", start)
	}
	dir, err := parseDirectory(payload, objectSize)
	if err != nil {
		return nil, 0, 0, corrupt.Locate(err, "", start+4)
	}
	return dir, start, end, nil
}

// tailIsDraft reports whether the directory at the end of suffix, which ParseTail has accepted, is on the draft wire.
func tailIsDraft(suffix []byte, objectSize int64) bool {
	size, err := TailSize(suffix, objectSize)
	return err == nil && isDraft(suffix[int64(len(suffix))-size+4:len(suffix)-tailFixed])
}

// parseDirectory decodes the directory of a root of size bytes and checks what it states about itself.
func parseDirectory(payload []byte, size int64) (*metapb.ShardDirectory, error) {
	dir := new(metapb.ShardDirectory)
	if isDraft(payload) {
		var err error
		if payload, err = toCurrent.message(payload, dir.ProtoReflect().Descriptor(), 0); err != nil {
			return nil, err
		}
	}
	if err := unmarshal(payload, dir); err != nil {
		return nil, err
	}
	for _, r := range []struct {
		name      string
		ref       *metapb.DataRef
		mandatory bool
	}{
		{"schema_ref", dir.SchemaRef, true},
		{"properties_ref", dir.PropertiesRef, false},
		{"field_list_ref", dir.FieldListRef, true},
		{"stripe_list_ref", dir.StripeListRef, true},
		{"url_list_ref", dir.UrlListRef, true},
		{"indexes_ref", dir.IndexesRef, false},
	} {
		if r.ref == nil {
			if r.mandatory {
				return nil, corrupt.At(0, "directory has no %s", r.name)
			}
			continue
		}
		start, end, err := RefRange(r.ref)
		if err == nil && start == end && r.mandatory {
			return nil, corrupt.At(0, "directory: %s is empty", r.name)
		}
		if err != nil || r.ref.Url == "" && end > size {
			return nil, corrupt.At(0, "directory: %s is [%d, %d) of %d bytes", r.name,
				r.ref.GetRange().GetStart(), r.ref.GetRange().GetEnd(), size)
		}
	}
	return dir, checkCounts(dir)
}

func checkCounts(dir *metapb.ShardDirectory) error {
	if dir.TotalRecordCount > math.MaxInt64 {
		return corrupt.At(0, "directory: %d records", dir.TotalRecordCount)
	}
	if dir.DeletedRecordCount > dir.TotalRecordCount {
		return corrupt.At(0, "directory: %d of %d records are deleted", dir.DeletedRecordCount, dir.TotalRecordCount)
	}
	return nil
}
