package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// BytesAt appends value i of the n values of sub to dst, i in [0, n), if it can be read without the others. fixed is the size
// of each value, or 0 for any length. Only BlockDictionary knows which values are null; for the other encodings null is false
// and the block's presence decides.
//
// Plain, SingleValue and BlockDictionary read the one value; Fsst walks its stream up to the value's end. done is false, and
// dst as it was, for Lz4 and Zstd and where offsets or codes depend on others: the block has to be decoded.
func BytesAt(dst []byte, sub []byte, n, fixed, i int, s *Scratch) (out []byte, null, done bool, err error) {
	code, err := bytesCodeOf(sub)
	if err != nil {
		return dst, false, false, err
	}
	switch code {
	case Plain:
		out, err = plainBytesAt(dst, sub, n, fixed, i)
	case SingleValue:
		if fixed > 0 && len(sub)-codeSize != fixed {
			return dst, false, false, corrupt.At(codeSize, "SingleValue: %d bytes for a value of %d", len(sub)-codeSize, fixed)
		}
		out = append(dst, sub[codeSize:]...)
	case BlockDictionary:
		out, null, err = dictionaryBytesAt(dst, sub, n, fixed, i, s)
	case Fsst:
		out, err = fsstAt(dst, sub, n, fixed, i, s)
	default:
		return dst, false, false, nil
	}
	if done, err = alone(err); !done {
		return dst, false, false, err
	}
	return out, null, true, nil
}

// span is a value's place in the uncompressed bytes.
type span struct{ start, end uint64 }

// of is the bytes of the span, or an error if it doesn't lie in data.
func (p span) of(data []byte) ([]byte, error) {
	if p.start > p.end || p.end > uint64(len(data)) {
		return nil, corrupt.At(0, "value from %d to %d in %d bytes", p.start, p.end, len(data))
	}
	return data[p.start:p.end], nil
}

func plainBytesAt(dst, sub []byte, n, fixed, i int) ([]byte, error) {
	if len(sub) < plainBytesHeader {
		return dst, corrupt.At(0, "Plain: sub-block of %d bytes has no offset width", len(sub))
	}
	if err := checkWidth(sub[2], fixed, 2); err != nil {
		return dst, err
	}
	data, p := sub[plainBytesHeader:], span{uint64(i * fixed), uint64((i + 1) * fixed)}
	if fixed == 0 {
		if len(data)/8 < n+1 {
			return dst, corrupt.At(plainBytesHeader, "Plain: %d bytes for the offsets of %d values", len(data), n)
		}
		p = span{simd.LoadOne[uint64](data[8*i:]), simd.LoadOne[uint64](data[8*i+8:])}
		data = data[8*(n+1):]
	}
	v, err := p.of(data)
	return append(dst, v...), corrupt.Locate(err, "", plainBytesHeader)
}

func dictionaryBytesAt(dst, sub []byte, n, fixed, i int, s *Scratch) (out []byte, null bool, err error) {
	d, err := parseBytesDictionary(sub, n, fixed)
	if err != nil {
		return dst, false, err
	}
	code, err := partAt[uint32](d.codes, i, s)
	if err != nil {
		return dst, false, err
	}
	if uint64(code) > uint64(d.entries) {
		return dst, false, corrupt.At(pairHeader, "BlockDictionary: code %d beyond %d entries", code, d.entries)
	}
	if code == 0 {
		return append(dst, make([]byte, fixed)...), true, nil
	}
	p := span{uint64(int(code)-1) * uint64(fixed), uint64(code) * uint64(fixed)}
	if fixed == 0 {
		m := s.mark()
		defer s.release(m)
		spans := take[uint64](s, d.entries+2)
		if err := d.spans(spans, s); err != nil {
			return dst, false, err
		}
		p = span{spans[code], spans[code+1]}
	}
	v, err := p.of(d.data)
	return append(dst, v...), false, corrupt.Locate(err, "", int64(d.dataAt))
}

// offsetsAt reads the place of value i from an offsets section (docs/format/blocks.md), and the end of all.
func offsetsAt(section []byte, nested bool, n, fixed, i int, s *Scratch) (p span, total uint64, err error) {
	if fixed > 0 {
		return span{uint64(i * fixed), uint64((i + 1) * fixed)}, uint64(n * fixed), nil
	}
	if !nested && len(section) != 8*(n+1) {
		return p, 0, corrupt.At(0, "%d bytes for the offsets of %d values", len(section), n)
	}
	offsets := part{b: section, nested: nested, elem: Uint64, count: n + 1}
	for _, v := range []struct {
		i  int
		to *uint64
	}{{i, &p.start}, {i + 1, &p.end}, {n, &total}} {
		if *v.to, err = partAt[uint64](offsets, v.i, s); err != nil {
			return p, 0, err
		}
	}
	if p.start > p.end || p.end > total || total > maxExpanded {
		return p, 0, corrupt.At(0, "value from %d to %d of %d bytes", p.start, p.end, total)
	}
	return p, total, nil
}

func fsstAt(dst, sub []byte, n, fixed, i int, s *Scratch) ([]byte, error) {
	f := s.fsstOf()
	if err := f.parse(sub, fixed); err != nil {
		return dst, err
	}
	p, _, err := offsetsAt(f.offsets, f.nested, n, fixed, i, s)
	if err != nil {
		return dst, corrupt.Locate(err, "", int64(f.offAt))
	}
	if p.end > 8*uint64(len(f.stream)) {
		return dst, corrupt.At(int64(f.offAt), "Fsst: %d bytes can't become %d", len(f.stream), p.end)
	}
	at := len(dst)
	out := append(dst, make([]byte, p.end-p.start)...)
	if !f.table.DecodeSpan(out[at:], f.stream, int(p.start)) {
		return dst, corrupt.At(int64(f.at), "Fsst: stream ends before byte %d, or has an unknown symbol", p.end)
	}
	return out, nil
}
