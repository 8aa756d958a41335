package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Parquet is read by a library that starts goroutines of its own: what panics there, or asks for more memory than
// there is, ends the process, whoever called. So a program may lend itself as a reader: it starts itself again, with a
// bound on memory, no environment and no access to any store, and the two speak over pipes, in frames:
//
//	| kind, 1 byte | length, 4 bytes little-endian | payload |
//
//	to the reader     o  a readerRequest as JSON, first and once
//	                  b  the bytes that were asked for; x in their place: the text of an error
//	from the reader   r  offset and length, 8 bytes each: bytes of the file are wanted
//	                  d  the next piece of an Arrow IPC stream of the file's batches
//	                  e  the end of the stream; x in its place: the text of an error
//
// What comes back is checked as any Arrow stream is.
const (
	frameOpen  = 'o'
	frameBytes = 'b'
	frameError = 'x'
	frameRead  = 'r'
	frameData  = 'd'
	frameEnd   = 'e'
)

// readerVariable in the environment makes a process a reader.
const readerVariable = "SHARDCAT_READER"

// readerBase is how much memory a reader may have besides what its values may take, in bytes: for the program itself and
// for the library's buffers.
const readerBase = 512 << 20

// readerGarbage is the garbage that a reader collects at, in percent of what it uses: nearly all that it makes is garbage after a
// batch, and the limit of its memory makes it collect earlier.
const readerGarbage = 400

// pipeBytes is how much a reader writes at once, and what its pipe holds where the system lets it be asked for: some of a batch, of
// a megabyte or two, so that neither process waits for the other at each column, or is woken by it.
const pipeBytes = 1 << 20

// maxFrame bounds a frame, in bytes; larger reads are done in parts.
const maxFrame = 16 << 20

// readsApart: this program can be started as a reader.
var readsApart atomic.Bool

// readerRequest says what to read.
type readerRequest struct {
	Size      int64 `json:"size"`
	BatchRows int   `json:"batch_rows"`
	Memory    int64 `json:"memory"`
	// Coded: see SourceOptions.coded. The types of the file are in the metadata of the stream's schema then.
	Coded bool `json:"coded"`
}

// ServeReader makes the program one that reads Parquet in a process of its own. A program calls it before anything
// else; in the process that was started to read, it doesn't return. Without the call files are read in the caller's
// process, where a file made to do harm can end it.
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
	if err := sendBatches(c, q); err != nil {
		return c.write(frameError, []byte(err.Error()))
	}
	return c.write(frameEnd, nil)
}

// sendBatches reads the file and writes its batches.
func sendBatches(c *frames, q readerRequest) (err error) {
	defer guard(&err, "file")
	o := SourceOptions{BatchRows: q.BatchRows, coded: q.Coded}.withDefaults()
	f, err := newParquet(context.Background(), newRemote(c, q.Size), o, true)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(dataFrames{c}, pipeBytes/4)
	if q.Coded {
		if err := f.tellTypes(); err != nil {
			return err
		}
	}
	w := ipc.NewWriter(out, ipc.WithSchema(f.stored))
	for {
		b, err := f.next(context.Background())
		if err == io.EOF {
			if err := w.Close(); err != nil {
				return err
			}
			return out.Flush()
		}
		if err == nil {
			err = w.Write(b)
		}
		if err != nil {
			return err
		}
	}
}

// frames reads and writes frames. Writes are whole; a request and its answer are one call of ask.
type frames struct {
	r       *bufio.Reader
	writing sync.Mutex
	w       io.Writer
	asking  sync.Mutex
	// payload is the memory of the frame that was read last.
	payload []byte
}

func (c *frames) write(kind byte, payload []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	head := [5]byte{kind}
	binary.LittleEndian.PutUint32(head[1:], uint32(len(payload)))
	if _, err := c.w.Write(head[:]); err != nil {
		return err
	}
	_, err := c.w.Write(payload)
	return err
}

// head reads what stands before a payload.
func (c *frames) head() (kind byte, size int, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, 0, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, 0, fmt.Errorf("a frame of %d bytes", n)
	}
	return head[0], int(n), nil
}

// read reads a frame, whose payload is valid until the next one is read.
func (c *frames) read() (kind byte, payload []byte, err error) {
	kind, size, err := c.head()
	if err != nil {
		return 0, nil, err
	}
	payload, err = c.payloadOf(size)
	return kind, payload, err
}

// payloadOf reads a payload, which is valid until the next frame is read.
func (c *frames) payloadOf(size int) ([]byte, error) {
	if cap(c.payload) < size {
		c.payload = make([]byte, size)
	}
	_, err := io.ReadFull(c.r, c.payload[:size])
	return c.payload[:size], err
}

// expect reads a frame of one kind, or an error in its place.
func (c *frames) expect(want byte) ([]byte, error) {
	kind, payload, err := c.read()
	if err == nil && kind != want {
		err = other(kind, payload, want)
	}
	return payload, err
}

// expectInto is expect for a payload that fills p, to which it is read.
func (c *frames) expectInto(want byte, p []byte) error {
	kind, size, err := c.head()
	switch {
	case err != nil:
		return err
	case kind == want && size == len(p):
		_, err = io.ReadFull(c.r, p)
		return err
	case kind == want:
		return io.ErrUnexpectedEOF
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(c.r, payload); err != nil {
		return err
	}
	return other(kind, payload, want)
}

// other is the error of a frame of another kind than was expected.
func other(kind byte, payload []byte, want byte) error {
	if kind == frameError {
		return errors.New(string(payload))
	}
	return fmt.Errorf("frame %q where %q was expected", kind, want)
}

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

// remote is a file in the hands of who asked for the reading.
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

// readerProcess is a reader at work, which is read from one goroutine: its stream, and in between it answers what the process asks for.
type readerProcess struct {
	cmd    *exec.Cmd
	file   random
	frames *frames
	stderr bytes.Buffer
	ctx    context.Context
	stop   context.CancelFunc
	// left is what is not yet read of a piece of the stream, ended why there is no more.
	left  int
	ended error
	// answers is the memory of the bytes that were asked for last.
	answers []byte
}

// program is what a reader is started from.
func program() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil // also when the file was replaced since
	}
	return os.Executable()
}

// startReader starts a reader for a file, which is closed with it.
func startReader(ctx context.Context, file random, o SourceOptions) (batchFile, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	p := &readerProcess{file: file}
	p.ctx, p.stop = context.WithCancel(ctx)
	p.cmd = exec.CommandContext(p.ctx, path)
	p.cmd.Env = []string{readerVariable + "=1"}
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	widenPipe(out, pipeBytes)
	widenPipe(in, pipeBytes)
	if err := p.cmd.Start(); err != nil {
		p.stop()
		return nil, fmt.Errorf("starting a process to read Parquet: %w", err)
	}
	// Both buffers are for what is small: batches are read past them into the memory that they stay in.
	p.frames = &frames{r: bufio.NewReaderSize(out, frameBuffer), w: in}
	if err := p.ask(readerRequest{file.Size(), o.BatchRows, readerBase + o.MaxMemory, o.coded}); err != nil {
		return nil, errors.Join(err, p.end(err))
	}
	f, err := newArrowStream(p, bufio.NewReaderSize(p, frameBuffer), max(o.MaxMemory, DefaultMaxMemory))
	if err != nil {
		p.kill()
		return nil, err
	}
	if !o.coded {
		return f, nil
	}
	types, err := toldTypes(f.schema())
	if err != nil {
		p.kill()
		return nil, err
	}
	return &codedStream{f, types}, nil
}

// frameBuffer is the buffer of what comes from a reader, in bytes.
const frameBuffer = 4 << 10

func (p *readerProcess) ask(q readerRequest) error {
	request, err := json.Marshal(q)
	if err != nil {
		return err
	}
	return p.frames.write(frameOpen, request)
}

// Close ends the process, whatever it does, and closes the file.
func (p *readerProcess) Close() error {
	p.kill()
	return p.file.Close()
}

func (p *readerProcess) kill() {
	if p.ended == nil {
		p.stop()
		p.ended = p.end(io.ErrClosedPipe)
	}
}

// Read implements io.Reader for the stream of the process.
func (p *readerProcess) Read(b []byte) (n int, err error) {
	for p.ended == nil && p.left == 0 {
		if err = p.exchange(); err != nil {
			p.ended = p.end(err)
		}
	}
	if p.ended != nil {
		return 0, p.ended
	}
	n, err = p.frames.r.Read(b[:min(len(b), p.left)])
	if p.left -= n; err != nil {
		p.ended = p.end(err)
	}
	return n, p.ended
}

// errStreamEnd is the end of the stream, as the process says it.
var errStreamEnd = errors.New("the end of the stream")

// end waits for the process, which ends by itself if it said so or died, and is ended otherwise. It gives what the reader of the
// stream is told, io.EOF at the end.
func (p *readerProcess) end(err error) error {
	died := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
	cause := p.ctx.Err()
	if !died && err != errStreamEnd {
		p.stop()
	}
	_ = p.cmd.Wait() // how it ended is told by what it said last
	p.stop()
	switch {
	case err == errStreamEnd:
		return io.EOF
	case died && cause != nil:
		return cause
	case died:
		return p.death()
	}
	return err
}

// death is the error of a process that ended by itself: its last words are a panic's.
func (p *readerProcess) death() error {
	why := "the process that read it died"
	for line := range strings.Lines(p.stderr.String()) {
		line = strings.TrimSpace(line)
		if _, words, ok := strings.Cut(line, "panic: "); ok || strings.HasPrefix(line, "fatal error: ") {
			why = strings.TrimPrefix(line, "fatal error: ")
			if ok {
				why = words
			}
			break
		}
	}
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: "the reader gives up: " + why}
}

// exchange reads the head of the next piece of the stream, and answers what is asked for in front of it.
func (p *readerProcess) exchange() error {
	kind, size, err := p.frames.head()
	if err != nil {
		return err
	}
	if kind == frameData {
		p.left = size
		return nil
	}
	payload, err := p.frames.payloadOf(size)
	if err != nil {
		return err
	}
	switch kind {
	case frameEnd:
		return errStreamEnd
	case frameError:
		return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: strings.TrimPrefix(string(payload), "corrupt data: ")}
	case frameRead:
		return p.answer(payload)
	}
	return fmt.Errorf("frame %q from the process that reads", kind)
}

// answer sends the bytes that are asked for.
func (p *readerProcess) answer(request []byte) error {
	if len(request) != 16 {
		return fmt.Errorf("a request of %d bytes", len(request))
	}
	off, n := int64(binary.LittleEndian.Uint64(request)), binary.LittleEndian.Uint64(request[8:])
	if n > maxFrame {
		return fmt.Errorf("a request for %d bytes", n)
	}
	p.answers = slices.Grow(p.answers[:0], int(n))
	buf := p.answers[:n]
	if _, err := p.file.ReadAt(buf, off); err != nil {
		return errors.Join(err, p.frames.write(frameError, []byte(err.Error())))
	}
	return p.frames.write(frameBytes, buf)
}
