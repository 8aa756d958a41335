package fileio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowipc"
)

// stream is an input that can be read once: standard input, a named pipe, a device. It is opened when it is first
// looked at.
type stream struct {
	// from is what it reads from; path is opened instead if from is nil.
	from io.Reader
	path string
	// body is what was opened, unpacked, with what was looked at still in it.
	body *bufio.Reader
	shut io.Closer
	// taken: it was read.
	taken bool
}

// errTaken is a stream named twice.
var errTaken = errors.New("it can be read only once")

// peek gives the first bytes, unpacked.
func (s *stream) peek(ctx context.Context) ([]byte, error) {
	if s.body == nil {
		from, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		r, err := unpack(from)
		if err != nil {
			return nil, err
		}
		s.body, s.shut = bufio.NewReaderSize(r, sniffFormatBytes), r
	}
	return firstBytes(s.body)
}

// open gives what the stream reads. A pipe waits for its writer, and for what it writes, so a reader of its own ends
// with the context.
func (s *stream) open(ctx context.Context) (io.ReadCloser, error) {
	if s.from != nil {
		return io.NopCloser(s.from), nil
	}
	if s.path == "" {
		return nil, errors.New("no standard input")
	}
	out, to := io.Pipe()
	go func() {
		f, err := os.Open(s.path)
		if err == nil {
			_, err = io.Copy(to, f)
			f.Close()
		}
		to.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { to.CloseWithError(context.Cause(ctx)) })
	return out, nil
}

// take gives the stream from its beginning, once.
func (s *stream) take(ctx context.Context) (io.ReadCloser, error) {
	if s.taken {
		return nil, errTaken
	}
	if _, err := s.peek(ctx); err != nil && err != io.EOF {
		return nil, err
	}
	s.taken = true
	return struct {
		io.Reader
		io.Closer
	}{s.body, s.shut}, nil
}

// streamAt gives a stream for the path of a named pipe or device, or nil for anything else.
func streamAt(arg string) *stream {
	path := strings.TrimPrefix(arg, "file://")
	if strings.Contains(path, "://") {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return &stream{path: path}
}

// sniffFormatBytes is how much of an input is looked at to report its format.
const sniffFormatBytes = 4096

// firstBytes waits for the first bytes of a reader, and gives what came with them.
func firstBytes(r *bufio.Reader) ([]byte, error) {
	for {
		head, _ := r.Peek(r.Buffered())
		if len(bytes.TrimSpace(head)) >= len(arrowipc.Magic) || len(head) == r.Size() || isShortText(head) {
			return head, nil
		}
		if _, err := r.Peek(len(head) + 1); err != nil {
			head, _ = r.Peek(len(head)) // what was buffered may have moved
			return head, err
		}
	}
}

// isShortText reports whether the first bytes of an input are text for certain, though they are fewer than a magic has: a stream whose
// first line is short must not wait for the next.
func isShortText(head []byte) bool {
	const least = 4 // byte order marks, and magics of compression
	text := bytes.TrimSpace(head)
	if len(head) < least || len(text) == 0 || bytes.HasPrefix([]byte(arrowipc.Magic), text) || bytes.HasPrefix([]byte("PAR1"), text) {
		return false
	}
	for _, b := range head {
		if b == 0 || b >= 0x80 {
			return false
		}
	}
	return true
}

// sniffFormat reports a format by the first bytes of a file, unpacked: the magic of Parquet and Arrow, JSON by its
// bracket, and CSV for any other text.
func sniffFormat(head []byte) (Format, bool) {
	if e, err := detectEncoding(head); err == nil && e != UTF8 && !bytes.HasPrefix(head, []byte{0xFF, 0xFF}) {
		decoded, _ := e.decode(bufio.NewReader(bytes.NewReader(head)))
		head, _ = io.ReadAll(decoded) // half a character at the end reports nothing
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet, true
	case bytes.HasPrefix(head, []byte(arrowipc.Magic)), bytes.HasPrefix(head, []byte{0xFF, 0xFF, 0xFF, 0xFF}):
		return Arrow, true
	case len(text) == 0:
		return NDJSON, true
	case text[0] == '{' || text[0] == '[':
		return NDJSON, true
	case bytes.IndexByte(head, 0) >= 0:
		return "", false
	}
	return CSV, true
}

// contentFormat reports the format of an input by its content.
func (in input) contentFormat(ctx context.Context, sp *blobio.Client) (Format, error) {
	if in.stream == nil && strings.HasSuffix(in.name, "/") {
		return Detect(ctx, sp, in.url+"/")
	}
	var head []byte
	var err error
	if in.stream != nil {
		head, err = in.stream.peek(ctx)
	} else {
		var r io.ReadCloser
		if r, err = in.open(ctx, sp); err != nil {
			return "", err
		}
		defer r.Close()
		head, err = firstBytes(bufio.NewReaderSize(r, sniffFormatBytes))
	}
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("%s: %w", in.name, err)
	}
	if f, known := sniffFormat(head); known {
		return f, nil
	}
	if in.stream == nil {
		return Detect(ctx, sp, in.url)
	}
	return "", fmt.Errorf("%s: %w: name it by --format", in.name, ErrUnknownFormat)
}
