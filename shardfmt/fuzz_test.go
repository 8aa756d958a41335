package shardfmt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/urlresolve"
)

// specimen is a whole single-file shard that fuzzing damages.
type specimen struct {
	bytes []byte
	// frames and blocks are where messages and encoded blocks lie: all that has a checksum of its own.
	frames, blocks []colstream.Range
}

// dissect finds everything in a shard that has a checksum.
func dissect(f *testing.F, sp *blobio.Client, url string) *specimen {
	ctx := context.Background()
	b, _, err := sp.ReadAll(ctx, url, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	s := open(f, sp, url, 0)
	all, err := s.Schema(ctx)
	if err != nil {
		f.Fatal(err)
	}
	x := &specimen{bytes: b}
	start := int64(len(b)) - 20 - int64(binary.LittleEndian.Uint32(b[len(b)-12:]))
	for i := range s.Stripes() {
		refs, _, err := s.Root().StripeFieldList(ctx, i)
		if err != nil {
			f.Fatal(err)
		}
		for id := range all.Count {
			if _, at, end, err := refs.At(int(id)); err == nil && end > at {
				start = min(start, at)
			}
			x.addBlocks(f, s, i, id)
		}
	}
	for at := uint64(start); at < uint64(len(b)-12); {
		end := at + meta.FrameOverhead + uint64(binary.LittleEndian.Uint32(b[at:]))
		x.frames = append(x.frames, colstream.Range{Start: at, End: end})
		at = end
	}
	return x
}

func (x *specimen) addBlocks(f *testing.F, s *Shard, stripe int, id uint32) {
	d, _, err := s.Root().StripeField(context.Background(), stripe, id)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range d.GetEncodings() {
		for _, b := range e.GetNative().GetBuffers() {
			if b.BlockMap == nil {
				continue
			}
			m, err := colstream.ParseMap(x.bytes[b.BlockMap.Range.Start:b.BlockMap.Range.End])
			if err != nil {
				f.Fatal(err)
			}
			for i := range m.Blocks() {
				from, to := m.Range(i)
				at := b.Buffer.Range.Start
				x.blocks = append(x.blocks, colstream.Range{Start: at + from, End: at + to})
			}
		}
	}
}

// damage changes bytes, by edits of four bytes (three report where, one is xored), and makes all checksums right again.
func (x *specimen) damage(edits []byte) []byte {
	b := bytes.Clone(x.bytes)
	for ; len(edits) >= 4; edits = edits[4:] {
		at := int(edits[0]) | int(edits[1])<<8 | int(edits[2])<<16
		b[at%len(b)] ^= edits[3]
	}
	for _, r := range x.blocks {
		binary.LittleEndian.PutUint32(b[r.End-4:], meta.Checksum(b[r.Start:r.End-4]))
	}
	for _, r := range x.frames {
		binary.LittleEndian.PutUint32(b[r.End-4:], meta.Checksum(b[r.Start+4:r.End-4]))
	}
	return b
}

// FuzzOpenAndScan damages shards behind their checksums, opens and reads them: an error of a known kind or rows, in
// bounded memory.
func FuzzOpenAndScan(f *testing.F) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	var specimens []*specimen
	for i, n := range []int{0, 3, 40} {
		w := writeSample(f, sp, fmt.Sprintf("mem://fuzzseed/%d.amudai.shard", i), n, WriterOptions{Layout: Single, StripeRows: 25})
		specimens = append(specimens, dissect(f, sp, w.URL))
	}
	if dir := os.Getenv(interop.Variable); dir != "" {
		for _, name := range []string{"narrow-plain-one-1", "nest-map-plain-one-1024", "unit-plain-one-100"} {
			specimens = append(specimens, dissect(f, sp, "file://"+dir+"/"+name+"/shard.amudai.shard"))
		}
	}
	for i := range specimens {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{100, 3, 0, 1, 9, 9, 0, 0x80})
	}
	var serial atomic.Int64
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		url := fmt.Sprintf("mem://fuzz%d/s.amudai.shard", serial.Add(1))
		sp := blobio.NewClient(blobio.ClientOptions{})
		defer sp.Close()
		if err := sp.Put(context.Background(), url, specimens[int(which)%len(specimens)].damage(edits)); err != nil {
			t.Fatal(err)
		}
		defer sp.Delete(context.Background(), url, "")
		err := scanAll(sp, url)
		if err == nil {
			return
		}
		for _, known := range []error{corrupt.ErrCorrupt, corrupt.ErrUnsupported, urlresolve.ErrRefused, blobio.ErrNotFound, blobio.ErrRange} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Fatal(err)
	})
}

func scanAll(sp *blobio.Client, url string) error {
	ctx := context.Background()
	s, err := Open(ctx, sp, url, OpenOptions{})
	if err != nil {
		return err
	}
	rows := int64(0)
	for b, err := range s.Scan(ctx, ScanOptions{BatchRows: 1000, Workers: 1}) {
		if err != nil {
			return err
		}
		if rows += b.NumRows(); rows > 100_000 {
			return nil
		}
	}
	return nil
}
