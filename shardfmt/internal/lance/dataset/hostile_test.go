package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// sealed is a manifest file of a message.
func sealed(message []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(message)))
	out = append(out, message...)
	out = binary.LittleEndian.AppendUint64(out, 0)
	return append(out, 0, 0, 2, 0, 'L', 'A', 'N', 'C')
}

func bytesField(dst []byte, n protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, n, protowire.BytesType), b)
}

func number(dst []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
}

// dataFileOf is the message of a data file of a version.
func dataFileOf(path string, major, minor uint64) []byte {
	return number(number(bytesField(bytesField(nil, 1, []byte(path)), 2, []byte{0}), 4, major), 5, minor)
}

// What is not read is refused by its name, and what invalid message as damage, before a data file is requested.
func TestManifestsAreRefused(t *testing.T) {
	fragment := func(of ...[]byte) []byte {
		f := number(nil, 4, 10)
		for _, b := range of {
			f = append(f, b...)
		}
		return bytesField(nil, 2, f)
	}
	file := func(path string, major, minor uint64) []byte {
		return fragment(bytesField(nil, 2, dataFileOf(path, major, minor)))
	}
	for _, x := range []struct {
		message []byte
		want    string
		kind    error
	}{
		{file("a.lance", 2, 3), `"a.lance" is a data file of version 2.3`, corrupt.ErrUnsupported},
		{file("a.lance", 0, 2), "legacy version 0.2", corrupt.ErrUnsupported},
		{file("a.lance", 0, 0), "legacy version 0.0", corrupt.ErrUnsupported},
		{fragment(bytesField(nil, 2, number(dataFileOf("a.lance", 2, 0), 7, 0))), "another base path", corrupt.ErrUnsupported},
		{fragment(), "without a data file", corrupt.ErrCorrupt},
		{bytesField(nil, 2, bytesField(nil, 2, dataFileOf("a.lance", 2, 0))), "without a number of rows", corrupt.ErrUnsupported},
		{number(nil, 9, featureBases), "several base paths", corrupt.ErrUnsupported},
		{bytesField(nil, 18, nil), "several base paths", corrupt.ErrUnsupported},
		{number(nil, 9, 1<<40), "features 0x10000000000", corrupt.ErrUnsupported},
		{bytesField(nil, 20, []byte("side")), `branch "side"`, corrupt.ErrUnsupported},
		{fragment(bytesField(nil, 3, number(nil, 1, 2))), "deletions of kind 2", corrupt.ErrUnsupported},
		{fragment(bytesField(nil, 3, number(nil, 4, 11))), "of 10 rows, of which 11 are deleted", corrupt.ErrCorrupt},
		{bytesField(nil, 2, number(nil, 4, 1<<40)), "of 1099511627776 rows", corrupt.ErrCorrupt},
		{file("../../secret", 2, 0), "not the name of a data file", corrupt.ErrCorrupt},
		{file("/etc/secret", 2, 0), "not the name of a data file", corrupt.ErrCorrupt},
		{file("", 2, 0), "not the name of a data file", corrupt.ErrCorrupt},
		{[]byte{0x0A, 0xFF}, "invalid message", corrupt.ErrCorrupt},
	} {
		c, url, _ := fixture(t, func(name string, data []byte) []byte { return nil })
		at := url + "/" + manifestNames(0)[1]
		if err := c.Put(context.Background(), at, sealed(x.message)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), c, url, ""); !errors.Is(err, x.kind) || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), at) {
			t.Errorf("%v\nwant %q", err, x.want)
		}
	}
}

// Damage in any object of a dataset is found by verify and by reading, or changes nothing that is read.
func TestDamageIsFound(t *testing.T) {
	ctx := context.Background()
	objects := 0
	fixture(t, func(_ string, data []byte) []byte { objects++; return data })
	for i := range objects {
		for kind, damage := range map[string]func([]byte) []byte{
			"gone": func([]byte) []byte { return nil },
			"cut":  func(b []byte) []byte { return b[:len(b)/2] },
			"end":  func(b []byte) []byte { b = bytes.Clone(b); b[len(b)-1] ^= 1; return b },
		} {
			at, hit := 0, ""
			c, url, _ := fixture(t, func(name string, data []byte) []byte {
				if at++; at-1 == i {
					hit = name
					return damage(data)
				}
				return data
			})
			d, err := Open(ctx, c, url, "11")
			if err != nil {
				continue
			}
			r, err := d.Verify(ctx, fileformat.VerifyOptions{})
			if used := uses(d, hit); used && err == nil && r.OK {
				t.Errorf("%s of %s is not found", kind, hit)
			} else if !used && (err != nil || !r.OK) {
				t.Errorf("%s of %s, which is not used: %+v, %v", kind, hit, r, err)
			}
		}
	}
}

// uses reports whether a version reads an object.
func uses(d *Dataset, name string) bool {
	for i := range d.m.fragments {
		f := &d.m.fragments[i]
		if f.deleted != nil && f.deleted.name(f.id) == name {
			return true
		}
		for _, file := range f.files {
			if "data/"+file.path == name {
				return true
			}
		}
	}
	return false
}

// FuzzManifest: whatever the bytes, a manifest or an error of stored data comes out, and of a manifest a schema.
func FuzzManifest(f *testing.F) {
	fixture(f, func(name string, data []byte) []byte {
		if strings.HasSuffix(name, ".manifest") {
			at := binary.LittleEndian.Uint64(data[len(data)-manifestFooter:])
			f.Add(data[at : len(data)-manifestFooter])
		}
		return data
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 4 {
			return
		}
		_, _ = messageAt(b, int64(len(b)))
		m, err := parseManifest(b)
		if err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("%v", err)
		}
		if err == nil {
			for i := range m.fragments {
				_ = m.fragments[i].rows()
			}
		}
	})
}

// Nulls that no file holds take no more memory than a batch may, whatever the type of the column states.
func TestNullsAreBounded(t *testing.T) {
	ctx := context.Background()
	for width, refused := range map[string]bool{"1000": false, "2000000000": true} {
		field := number(number(bytesField(nil, 2, []byte("wide")), 3, 77), 4, 1<<64-1)
		field = number(bytesField(field, 5, []byte("fixed_size_list:float:"+width)), 6, 1)
		c, url, _ := fixture(t, func(name string, data []byte) []byte {
			if name != manifestNames(1)[0] {
				return data
			}
			at := binary.LittleEndian.Uint64(data[len(data)-manifestFooter:])
			n := binary.LittleEndian.Uint32(data[at:])
			return sealed(bytesField(bytes.Clone(data[at+4:at+4+uint64(n)]), 1, field))
		})
		d, err := Open(ctx, c, url, "1")
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.NewSource(ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := columns(t, s)
		if refused != errors.Is(err, corrupt.ErrUnsupported) || !refused && (err != nil || got[len(got)-1].NullN() != 60) {
			t.Errorf("nulls of %s floats: %v", width, err)
		}
	}
}
