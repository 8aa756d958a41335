package fileio

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// readsApart: this program can be started as a reader.
var readsApart atomic.Bool

// ServeReader makes the program one that reads Parquet in a process of its own. A program calls it before anything
// else; in the process that was started to read, it doesn't return. Without the call, opening a Parquet file is an error that reports it, unless
// SourceOptions.InProcess is set.
func ServeReader() {
	if os.Getenv(readerVariable) == "" {
		readsApart.Store(true)
		return
	}
	if err := serveReader(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveReader(from io.Reader, to io.Writer) error {
	c := &frames{r: bufio.NewReader(from), w: to}
	payload, err := c.expect(frameOpen)
	if err != nil {
		return err
	}
	var q readerRequest
	if err := json.Unmarshal(payload, &q); err != nil {
		return err
	}
	debug.SetGCPercent(readerGarbage)
	runtime.MemProfileRate = 0 // nobody asks it for a profile
	if err := limitMemory(q.Memory); err != nil {
		return err
	}
	in, out := q.input(c), q.output(c)
	if err := sendBatches(in, out, q); err != nil {
		if failed := in.failure(); failed != nil {
			return c.write(frameFailed, []byte(failed.Error()))
		}
		return c.write(frameError, []byte(err.Error()))
	}
	return c.write(frameEnd, nil)
}

// input is the file of a request: one that was lent, or else one that is requested range by range.
func (q readerRequest) input(c *frames) readerInput {
	if q.File > 0 {
		return newLentFile(c, os.NewFile(uintptr(q.File), "the file"), q.Size, q.Count)
	}
	return newRemote(c, q.Size)
}

// output is where the stream of a request goes: to shared memory, or else through the pipe.
func (q readerRequest) output(c *frames) readerOutput {
	if q.Slots > 0 {
		if memory, err := mapSlots(os.NewFile(uintptr(q.Slots), "the slots")); err == nil {
			c.free = slotCount
			return &slotWriter{c: c, memory: memory}
		}
	}
	return pipeWriter{bufio.NewWriterSize(dataFrames{c}, pipeBytes/4)}
}

// readerInput is the file that a reader reads.
type readerInput interface {
	random
	// failure is the error of reading the file itself, nil if there was none or it is reported elsewhere.
	failure() error
	// tellRest reports how much was read, if that is still to be reported: all is read, and the end of the stream is still to come.
	tellRest() error
}

// readerOutput takes the stream of a reader's batches.
type readerOutput interface {
	io.Writer
	// endBatch notes that a batch is written.
	endBatch() error
	// Flush sends what is held back.
	Flush() error
}

// sendBatches reads the file and writes its batches.
func sendBatches(in readerInput, out readerOutput, q readerRequest) (err error) {
	defer guard(&err, "file")
	o := SourceOptions{BatchRows: q.BatchRows, coded: q.Coded, MaxMemory: q.Memory - readerBase}.withDefaults()
	f, err := newParquet(context.Background(), in, o, true)
	if err != nil {
		return err
	}
	if q.Coded {
		if err := f.tellTypes(); err != nil {
			return err
		}
	}
	w := ipc.NewWriter(out, ipc.WithSchema(f.stored))
	for {
		b, err := f.next(context.Background())
		if err == io.EOF {
			return errors.Join(in.tellRest(), w.Close(), out.Flush())
		}
		if err == nil {
			if err = w.Write(b); err != nil && strings.Contains(err.Error(), "runtime error") { // offsets of 32 bits
				err = corrupt.Unsupported(-1, "a batch with more than 2 GiB of text or bytes in a column: leave the column out (--select)")
			} else if err != nil && strings.Contains(err.Error(), "unknown error while writing") { // of arrays whose parts do not fit together
				err = damaged(err)
			}
		}
		if err == nil {
			err = out.endBatch()
		}
		if err != nil {
			return err
		}
	}
}

// pipeWriter sends the stream in pieces through the pipe, which go by their size, not by batches.
type pipeWriter struct{ *bufio.Writer }

func (pipeWriter) endBatch() error { return nil }

// dataFrames writes the stream.
type dataFrames struct{ *frames }

func (d dataFrames) Write(p []byte) (int, error) {
	for at := 0; at < len(p); at += maxFrame {
		if err := d.write(frameData, p[at:min(at+maxFrame, len(p))]); err != nil {
			return at, err
		}
	}
	return len(p), nil
}

// remote is a file in the hands of who requested the reading.
type remote struct {
	*io.SectionReader
	c *frames
}

func newRemote(c *frames, size int64) *remote {
	r := &remote{c: c}
	r.SectionReader = io.NewSectionReader(remoteRanges{r}, 0, size)
	return r
}

// Close implements io.Closer.
func (r *remote) Close() error { return nil }

type remoteRanges struct{ *remote }

// ReadAt implements io.ReaderAt; the SectionReader above keeps reads within the file.
func (r remoteRanges) ReadAt(p []byte, off int64) (int, error) {
	r.c.asking.Lock()
	defer r.c.asking.Unlock()
	for at := 0; at < len(p); {
		part := p[at:min(len(p), at+maxFrame)]
		var request [16]byte
		binary.LittleEndian.PutUint64(request[:], uint64(off)+uint64(at))
		binary.LittleEndian.PutUint64(request[8:], uint64(len(part)))
		if err := r.c.write(frameRead, request[:]); err != nil {
			return at, err
		}
		if err := r.c.expectInto(frameBytes, part); err != nil {
			return at, err
		}
		at += len(part)
	}
	return len(p), nil
}

// tellRest implements readerInput: the other process counts.
func (r *remote) tellRest() error { return nil }

// failure implements readerInput: the other process has it.
func (r *remote) failure() error { return nil }

// lentFile is a file whose descriptor came with the start of the process.
type lentFile struct {
	*io.SectionReader
	c    *frames
	file *os.File
	// tells: it is asked how many bytes were read, of which untold are still to be said.
	tells  bool
	untold atomic.Int64
	failed atomic.Pointer[error]
}

// countEvery is how many bytes are read between two reports.
const countEvery = 1 << 20

func newLentFile(c *frames, f *os.File, size int64, tells bool) *lentFile {
	l := &lentFile{c: c, file: f, tells: tells}
	l.SectionReader = io.NewSectionReader(lentRanges{l}, 0, size)
	return l
}

// Close implements io.Closer.
func (l *lentFile) Close() error { return l.file.Close() }

// buffer implements buffered.
func (l *lentFile) buffer() int { return lentBuffer }

func (l *lentFile) failure() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

type lentRanges struct{ *lentFile }

// ReadAt implements io.ReaderAt; the SectionReader above keeps reads within the file as it was when it was lent: its end is met where it was cut since.
func (r lentRanges) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, off)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		r.failed.CompareAndSwap(nil, &err)
		return n, err
	}
	if r.untold.Add(int64(n)) >= countEvery {
		err = r.tellRest()
	}
	return n, err
}

// tellRest implements readerInput.
func (l *lentFile) tellRest() error {
	n := l.untold.Swap(0)
	if !l.tells || n == 0 {
		return nil
	}
	var read [8]byte
	binary.LittleEndian.PutUint64(read[:], uint64(n))
	return l.c.write(frameCount, read[:])
}
