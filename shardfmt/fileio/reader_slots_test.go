package fileio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// ways are those in which a file and its batches go between the two processes.
var ways = map[string]SourceOptions{
	"file lent, memory shared": {}, "memory shared": {unlent: true}, "file lent": {unshared: true}, "through pipes": {unlent: true, unshared: true},
}

// written is a file of the test's folder.
func written(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "given.parquet")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// started opens a file in a process of its own.
func started(t *testing.T, path string, o SourceOptions) (*readerProcess, batchFile) {
	t.Helper()
	c := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	url, err := c.Mount(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	o = o.withDefaults()
	inputs := []input{{name: path, url: url}}
	if err := metered(t.Context(), c, inputs, o); err != nil {
		t.Fatal(err)
	}
	r, err := inputs[0].openRandom(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	f, err := startReader(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := f.(*arrowStream)
	if !ok {
		s = f.(*codedStream).arrowStream
	}
	return s.body.(*readerProcess), f
}

// Every way gives the same batches of all kinds of columns, and each is what it states: memory is shared and the file read by the process itself, or not.
func TestWaysAreEqual(t *testing.T) {
	b, want := mixed(t, 1000, true)
	path := written(t, b)
	for name, way := range ways {
		for _, coded := range []bool{false, true} {
			way.BatchRows, way.coded = 130, coded
			var counted int64
			way.Progress = func(read, total int64) { counted = read }
			p, f := started(t, path, way)
			if runtime.GOOS == "linux" && (p.slots == nil) != way.unshared {
				t.Fatalf("%s: slots of %d bytes", name, len(p.slots))
			}
			if asked := cap(p.answers) > 0; asked != way.unlent && runtime.GOOS != "windows" {
				t.Errorf("%s: the process asked for bytes: %v", name, asked)
			}
			at := int64(0)
			for {
				batch, err := f.next(t.Context())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, c := range batch.Columns() {
					for row := range c.Len() {
						if got, right := c.ValueStr(row), want.Column(i).ValueStr(int(at)+row); got != right {
							t.Fatalf("%s, row %d of %s: %s, not %s", name, at+int64(row), batch.ColumnName(i), got, right)
						}
					}
				}
				at += batch.NumRows()
			}
			if at != want.NumRows() || counted < int64(len(b))/2 {
				t.Errorf("%s: %d rows, %d bytes of %d were counted", name, at, counted, len(b))
			}
			if err := f.close(); err != nil {
				t.Error(err)
			}
			if p.slots != nil || p.cmd.ProcessState == nil {
				t.Errorf("%s: the process or its memory is still there at the end", name)
			}
		}
	}
}

// A batch that is longer than all slots together, and many that are shorter than one, come whole; what a process reads of a lent file is counted.
func TestSlotsAreUsedAgain(t *testing.T) {
	const rows = 40_000
	b := manyColumns(t, rows)
	path := written(t, b)
	for name, way := range ways {
		for _, batchRows := range []int{rows, 500} {
			var counted int64
			way.BatchRows, way.Progress = batchRows, func(read, total int64) { counted = read }
			p, f := started(t, path, way)
			n, pieces := int64(0), 0
			for {
				batch, err := f.next(t.Context())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, c := range batch.Columns() {
					values := c.(*array.Int64).Int64Values()
					for row, v := range values {
						if v != (n+int64(row))*int64(i) {
							t.Fatalf("%s, %d rows at once: row %d of column %d is %d", name, batchRows, n+int64(row), i, v)
						}
					}
				}
				n, pieces = n+batch.NumRows(), p.used
			}
			if n != rows {
				t.Errorf("%s: %d rows", name, n)
			}
			if least := rows * 24 * 8 / slotBytes; runtime.GOOS == "linux" && !way.unshared && (pieces <= slotCount || pieces > 4*least+1) {
				t.Errorf("%s: %d pieces of %d bytes", name, pieces, rows*24*8)
			}
			if counted < int64(len(b))/2 || counted > 2*int64(len(b)) {
				t.Errorf("%s: %d bytes of %d were counted", name, counted, len(b))
			}
			if err := f.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// answering is a reader process with prescribed reports, by a goroutine of this one, and has slots.
func answering(t *testing.T, withSlots bool, say func(c *frames, memory slots) error) *readerProcess {
	t.Helper()
	p := &readerProcess{file: inMemory{bytes.NewReader(make([]byte, 100))}}
	p.ctx, p.stop = context.WithCancel(t.Context())
	p.cmd = exec.CommandContext(p.ctx, os.Args[0], "-test.run=^$")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var memory slots
	if withSlots {
		f, mine, err := makeSlots()
		if err != nil {
			t.Skip(err)
		}
		p.slots = mine
		if memory, err = mapSlots(f); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(memory.unmap)
	}
	requests, toReader, err := os.Pipe()
	fromReader, answers, err2 := os.Pipe()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	p.frames = &frames{r: bufio.NewReader(fromReader), w: toReader}
	done := make(chan error)
	go func() {
		done <- errors.Join(say(&frames{r: bufio.NewReader(requests), w: answers}, memory), answers.Close())
	}()
	t.Cleanup(func() {
		toReader.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		requests.Close()
		fromReader.Close()
	})
	return p
}

// Slots that are reported to be longer than they are, pieces of none, counts of files that nobody lent and frames of no kind end the process, and nothing of
// the memory of others is read.
func TestHostileFrames(t *testing.T) {
	size := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	for name, c := range map[string]struct {
		slots   bool
		kind    byte
		payload []byte
	}{
		"a piece of more than a slot": {true, frameSlot, size(slotBytes + 1)}, "a piece of everything": {true, frameSlot, size(1<<32 - 1)},
		"a piece of nothing": {true, frameSlot, size(0)}, "a piece without a size": {true, frameSlot, nil}, "a long size": {true, frameSlot, make([]byte, 8)},
		"a piece where no memory is shared": {false, frameSlot, size(10)}, "a count of no lent file": {true, frameCount, make([]byte, 8)},
		"a slot freed by the wrong side": {true, frameFree, nil}, "a kind that is none": {true, 'q', nil}, "a request cut short": {true, frameRead, make([]byte, 15)},
		"a request for everything": {true, frameRead, bytes.Repeat([]byte{0x7F}, 16)},
	} {
		p := answering(t, c.slots, func(f *frames, _ slots) error { return f.write(c.kind, c.payload) })
		if n, err := p.Read(make([]byte, 100)); n != 0 || err == nil || err == io.EOF {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		if p.slots != nil || p.cmd.ProcessState == nil {
			t.Errorf("%s: the process or its memory is still there", name)
		}
		if _, err := p.Read(make([]byte, 100)); err == nil {
			t.Errorf("%s: what was ended goes on", name)
		}
	}
}

// A slot is written again when it was read to its end, and not before: pieces come whole and in order, and as many are sent ahead as there are slots.
func TestSlotsAreGivenBack(t *testing.T) {
	const pieces = 5 * slotCount
	sent := make(chan int, pieces)
	p := answering(t, true, func(c *frames, memory slots) error {
		c.free = slotCount
		w := &slotWriter{c: c, memory: memory}
		for i := range pieces {
			if _, err := w.Write(bytes.Repeat([]byte{byte(i)}, fullSlot+i)); err != nil {
				return err
			}
			if err := w.endBatch(); err != nil {
				return err
			}
			sent <- i
		}
		return c.write(frameEnd, nil)
	})
	ahead := 0
	for i := range pieces {
		piece := make([]byte, fullSlot+i)
		if _, err := io.ReadFull(p, piece[:1000]); err != nil {
			t.Fatal(err)
		}
		for ahead < min(i+slotCount, pieces) { // this piece is not given back yet
			<-sent
			ahead++
		}
		if len(sent) > 0 {
			t.Fatalf("%d pieces in %d slots, of which none was given back", slotCount+1, slotCount)
		}
		if _, err := io.ReadFull(p, piece[1000:]); err != nil {
			t.Fatal(err)
		}
		for at, v := range piece {
			if v != byte(i) {
				t.Fatalf("byte %d of piece %d is of piece %d", at, i, v)
			}
		}
	}
	if n, err := p.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("%d bytes behind the last piece, %v", n, err)
	}
}

// A process that is killed is an error of the file, after what it had sent.
func TestReaderIsKilled(t *testing.T) {
	path := written(t, manyColumns(t, 100_000))
	for name, way := range ways {
		way.BatchRows = 1000
		p, f := started(t, path, way)
		if _, err := f.next(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		n, err := 1, error(nil)
		for ; err == nil; n++ {
			_, err = f.next(t.Context())
		}
		if !errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), "crashed") {
			t.Errorf("%s: %v after %d batches", name, err, n)
		}
		if err := f.close(); err != nil || p.slots != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// cut is a file that is lent when half of it is gone.
type cut struct {
	inMemory
	path string
}

func (c cut) lend() (*os.File, error) { return os.Open(c.path) }
func (c cut) count(int)               {}

// A lent file that can't be read is an error that states nothing of what is in it.
func TestLentFileIsCut(t *testing.T) {
	b, _ := mixed(t, 1000, false)
	f, err := startReader(t.Context(), cut{inMemory{bytes.NewReader(b)}, written(t, b[:len(b)/2])}, SourceOptions{}.withDefaults())
	if err == nil {
		f.close()
		t.Fatal("it is read")
	}
	if errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), "reading the file") {
		t.Error(err)
	}
}
