package dataset

import (
	"encoding/binary"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Names of what data files and manifests state about themselves.
const (
	storageFormat  = "lance"
	storageVersion = "2.0"
	writerName     = "shardcat"
)

// encode makes the object of a manifest: length, message, and the footer that leads to them.
func (m *manifest) encode() []byte {
	body := m.message()
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	out = append(out, body...)
	out = binary.LittleEndian.AppendUint64(out, 0) // where the length stands
	out = binary.LittleEndian.AppendUint16(out, 0)
	out = binary.LittleEndian.AppendUint16(out, 2)
	return append(out, "LANC"...)
}

func (m *manifest) message() (out []byte) {
	for _, f := range m.fields {
		out = appendBytes(out, 1, f.Append(nil))
	}
	for i := range m.fragments {
		out = appendBytes(out, 2, m.fragments[i].message())
	}
	out = appendVarint(out, 3, m.version)
	for _, key := range slices.Sorted(maps.Keys(m.metadata)) {
		out = appendBytes(out, 5, texts(key, m.metadata[key]))
	}
	written := appendVarint(nil, 1, uint64(m.written.Unix()))
	out = appendBytes(out, 7, appendVarint(written, 2, uint64(m.written.Nanosecond())))
	if n := len(m.fragments); n > 0 {
		out = appendVarint(out, 11, m.fragments[n-1].id)
	}
	out = appendBytes(out, 13, appendBytes(nil, 1, []byte(m.writer)))
	return appendBytes(out, 15, texts(storageFormat, m.storage))
}

func (f *fragment) message() []byte {
	out := appendVarint(nil, 1, f.id)
	for _, d := range f.files {
		out = appendBytes(out, 2, d.message())
	}
	return appendVarint(out, 4, f.physical)
}

// message of a data file, whose columns belong to its fields one by one.
func (d *dataFile) message() []byte {
	var ids, columns []byte
	for i, id := range d.fields {
		ids = protowire.AppendVarint(ids, uint64(int64(id)))
		columns = protowire.AppendVarint(columns, uint64(i))
	}
	out := appendBytes(nil, 1, []byte(d.path))
	out = appendBytes(appendBytes(out, 2, ids), 3, columns)
	out = appendVarint(appendVarint(out, 4, d.major), 5, d.minor)
	return appendVarint(out, 6, d.size)
}

// texts is a message of two texts, as entries of maps are and others that look like them.
func texts(first, second string) []byte {
	return appendBytes(appendBytes(nil, 1, []byte(first)), 2, []byte(second))
}

func appendBytes(dst []byte, n protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, n, protowire.BytesType), b)
}

func appendVarint(dst []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
}
