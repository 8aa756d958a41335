package fileio

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
	"slices"
	"strings"
	"syscall"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Parquet is read by a library that starts goroutines of its own: what panics there, or requests more memory than
// there is, ends the process, whoever called. So a program may lend itself as a reader: it starts itself again, with a
// bound on memory, no environment and no access to any store. The two speak in frames, over pipes (reader_frames.go), and what is
// large goes past them where the system can do that: a local file is lent to the reader, open, and the stream of its batches comes back in
// shared memory (reader_slots.go).

// readerVariable in the environment makes a process a reader.
const readerVariable = "SHARDCAT_READER"

// readerBase is how much memory a reader may have besides what its values may take, in bytes: for the program itself and
// for the library's buffers.
const readerBase = 512 << 20

// readerGarbage is the garbage that a reader collects at, in percent of what it uses: nearly all that it makes is garbage after a
// batch, and the limit of its memory makes it collect earlier.
const readerGarbage = 400

// pipeBytes is how much a reader writes at once, and what its pipe holds where the system lets it be requested: some of a batch, of
// a megabyte or two, so that neither process waits for the other at each column, or is woken by it.
const pipeBytes = 1 << 20

// readerRequest is what to read.
type readerRequest struct {
	Size      int64 `json:"size"`
	BatchRows int   `json:"batch_rows"`
	Memory    int64 `json:"memory"`
	// Coded: see SourceOptions.coded. The types of the file are in the metadata of the stream's schema then.
	Coded bool `json:"coded"`
	// File and Slots are the descriptors of a file that is lent, and of the shared memory; 0 where there is none. Count asks how much of
	// the file is read.
	File  int  `json:"file"`
	Slots int  `json:"slots"`
	Count bool `json:"count"`
}

// readerProcess is a reader at work, which is read from one goroutine: its stream, and in between it answers what the process requests.
type readerProcess struct {
	cmd    *exec.Cmd
	file   random
	frames *frames
	stderr head
	ctx    context.Context
	stop   context.CancelFunc
	// left is what is not yet read of a piece of the stream, ended why there is no more.
	left  int
	ended error
	// answers is the memory of the bytes that were requested last.
	answers []byte
	// slots are nil where there are none, used counts those that came. piece is what is not yet read of the last one.
	slots slots
	used  int
	piece []byte
}

// head keeps the beginning of what is written to it: a panic's message comes before its stacks, and a hostile file must not fill the
// memory by what its reader complains of.
type head struct{ bytes.Buffer }

const maxHead = 64 << 10

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), maxHead-h.Len())])
	return len(p), nil
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
	p, err := runReader(ctx, file, o)
	if err != nil {
		return nil, err
	}
	f, err := newArrowStream(p, bufio.NewReaderSize(p, frameBuffer), max(o.MaxMemory, defaultMaxMemory))
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

// runReader starts a reader and reports it what to read.
func runReader(ctx context.Context, file random, o SourceOptions) (*readerProcess, error) {
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
	q := readerRequest{Size: file.Size(), BatchRows: o.BatchRows, Memory: readerBase + o.MaxMemory, Coded: o.coded, Count: o.Progress != nil}
	p.share(&q, o)
	err = p.cmd.Start()
	for _, f := range p.cmd.ExtraFiles { // the process has its own
		f.Close()
	}
	if err != nil {
		p.stop()
		p.unmap()
		return nil, fmt.Errorf("starting a process to read Parquet: %w", err)
	}
	// Both buffers are for what is small: batches are read past them into the memory that they stay in.
	p.frames = &frames{r: bufio.NewReaderSize(out, frameBuffer), w: in}
	if err := p.ask(q); err != nil {
		return nil, errors.Join(err, p.end(err))
	}
	return p, nil
}

// firstExtra is the descriptor of the first of a process's extra files.
const firstExtra = 3

// share gives the process the file itself, and memory for what it sends, where both can be had.
func (p *readerProcess) share(q *readerRequest, o SourceOptions) {
	if runtime.GOOS == "windows" { // where processes inherit no files
		return
	}
	if l, ok := p.file.(lender); ok && !o.unlent {
		if f, err := l.lend(); err == nil { // else reading it through the pipe reports why
			p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, f)
			q.File = firstExtra
		}
	}
	if o.unshared {
		return
	}
	if f, memory, err := makeSlots(); err == nil {
		p.slots, p.cmd.ExtraFiles = memory, append(p.cmd.ExtraFiles, f)
		q.Slots = firstExtra + len(p.cmd.ExtraFiles) - 1
	}
}

// unmap lets go of the slots, which nobody reads from then on.
func (p *readerProcess) unmap() {
	if p.slots != nil {
		p.slots.unmap()
		p.slots, p.piece = nil, nil
	}
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
	for p.ended == nil && p.left == 0 && len(p.piece) == 0 {
		if err = p.exchange(); err != nil {
			p.ended = p.end(err)
		}
	}
	if p.ended != nil {
		return 0, p.ended
	}
	if p.left == 0 {
		n = p.takePiece(b)
	} else {
		n, err = p.frames.r.Read(b[:min(len(b), p.left)])
		p.left -= n
	}
	if err != nil {
		p.ended = p.end(err)
	}
	return n, p.ended
}

// takePiece copies from the slot available, which is given back when nothing is left in it.
func (p *readerProcess) takePiece(b []byte) int {
	n := copy(b, p.piece)
	if p.piece = p.piece[n:]; len(p.piece) == 0 {
		_ = p.frames.write(frameFree, nil) // a process that is done doesn't hear it; of one that died its pipe reports
	}
	return n
}

// errStreamEnd is the end of the stream, as the process states it.
var errStreamEnd = errors.New("the end of the stream")

// end waits for the process, which ends by itself if it reported it or died, and is ended otherwise. It gives what the reader of the
// stream is given, io.EOF at the end.
func (p *readerProcess) end(err error) error {
	died := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
	cause := p.ctx.Err()
	if !died && err != errStreamEnd {
		p.stop()
	}
	_ = p.cmd.Wait() // its last message shows how it ended
	p.stop()
	p.unmap()
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
	why := "the reader process crashed"
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
	if strings.Contains(why, "out of memory") || strings.Contains(why, "cannot allocate memory") {
		return corrupt.Unsupported(-1, "to read the file needs more memory than there is for it: a larger limit (--max-memory) allows more")
	}
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: "invalid file: " + panicked(why)}
}

// unreadable is an error of a file, as the process that reads it put it in words.
func unreadable(text string) error {
	for _, kind := range []error{corrupt.ErrUnsupported, corrupt.ErrCorrupt} {
		if what, ok := strings.CutPrefix(text, kind.Error()+": "); ok {
			return &corrupt.Error{Kind: kind, Offset: -1, What: what}
		}
	}
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: text}
}

// exchange reads the head of the next piece of the stream, and answers what is requested in front of it.
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
		return unreadable(string(payload))
	case frameFailed:
		return fmt.Errorf("reading the file: %s", payload)
	case frameSlot:
		return p.beginPiece(payload)
	case frameCount:
		return p.count(payload)
	case frameRead:
		return p.answer(payload)
	}
	return fmt.Errorf("unexpected frame %q from the reader process", kind)
}

// beginPiece takes what is reported to be in the next slot.
func (p *readerProcess) beginPiece(size []byte) error {
	if len(size) != 4 || p.slots == nil {
		return fmt.Errorf("message of %d bytes about a piece of shared memory", len(size))
	}
	n := binary.LittleEndian.Uint32(size)
	if n == 0 || n > slotBytes {
		return fmt.Errorf("a piece of %d bytes in a slot of %d", n, slotBytes)
	}
	p.piece = p.slots.at(p.used)[:n]
	p.used++
	return nil
}

// count reports how much of a lent file was read.
func (p *readerProcess) count(read []byte) error {
	l, ok := p.file.(lender)
	if len(read) != 8 || !ok {
		return fmt.Errorf("message of %d bytes about a file that was not passed", len(read))
	}
	l.count(int(min(binary.LittleEndian.Uint64(read), uint64(p.file.Size()))))
	return nil
}

// answer sends the bytes that are requested.
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
