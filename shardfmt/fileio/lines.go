package fileio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/shardcat/shardcat/blobio"
)

// texts reads several text inputs one after the other.
type texts struct {
	sp     *blobio.Client
	inputs []input
	at     int // the input that is open, or the next to open

	body   io.ReadCloser
	reader *bufio.Reader
	// ahead reads the open input, if that was read ahead.
	ahead *lookahead
	// line is the number of the last line read, from 1.
	line int64
	// ending is the line break that was cut off the last line.
	ending []byte
	long   []byte
	// noCR and noLF are how many bytes that are buffered are known to be no CR, and no LF.
	noCR, noLF int
	// encoding is the Encoding of the options.
	encoding Encoding
}

// name of the input that is open.
func (t *texts) name() string { return t.inputs[min(t.at, len(t.inputs)-1)].name }

// open makes sure that an input is open; io.EOF if there are no more.
func (t *texts) open(ctx context.Context) error {
	if t.body != nil {
		return nil
	}
	if t.at == len(t.inputs) {
		return io.EOF
	}
	t.ahead = nil
	if l := t.inputs[t.at].ahead; l != nil {
		t.openAhead(l)
		return nil
	}
	body, err := t.inputs[t.at].open(ctx, t.sp)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name(), err)
	}
	t.body, t.reader, t.line, t.noCR, t.noLF = body, bufio.NewReaderSize(body, 256<<10), 0, 0, 0
	decoded, err := t.encoding.decode(t.reader)
	if err != nil {
		return t.located(err)
	}
	if decoded != nil {
		t.reader = bufio.NewReaderSize(decoded, 256<<10)
	}
	return nil
}

// close ends the input that is open; the next open goes on with the one after it.
func (t *texts) close() error {
	if t.body == nil {
		return nil
	}
	err := t.body.Close()
	t.body = nil
	t.at++
	return err
}

// end closes the input that is open; the next open goes on with the one after it.
func (t *texts) end(ctx context.Context) error {
	if err := t.close(); err != nil {
		return err
	}
	return ctx.Err()
}

var errUTF8 = errors.New("invalid UTF-8: the text is in another encoding: --encoding latin-1 or windows-1252 reads it, iconv -t UTF-8 converts others")

// here gives the next line of the open input without its end, valid until the next call; io.EOF at its end. A line that is
// no UTF-8 comes with errUTF8.
func (t *texts) here() ([]byte, error) {
	line, err := t.readLine()
	if err != nil {
		return nil, err
	}
	t.line++
	if !utf8.Valid(line) {
		return line, t.located(errUTF8)
	}
	return line, nil
}

// skipSpace skips white space of the open input, counting lines, and gives the byte behind it, unread. From then on
// line is the number of the line that this byte stands in.
func (t *texts) skipSpace() (byte, error) {
	if t.line == 0 {
		t.line = 1
	}
	for {
		chunk, err := t.buffered()
		if err != nil {
			return 0, err
		}
		for i, b := range chunk {
			switch b {
			case '\n', '\r', ' ', '\t':
			default:
				t.skip(chunk[:i])
				return b, nil
			}
		}
		t.skip(chunk)
	}
}

// skip skips text that is buffered, and counts its lines.
func (t *texts) skip(text []byte) {
	t.line += int64(bytes.Count(text, lineBreaks[1:]))
	for i, b := range text {
		if b != '\r' {
			continue
		}
		next := text[i+1:]
		if len(next) == 0 {
			next, _ = t.reader.Peek(len(text) + 1)
			next = next[min(len(next), len(text)):]
		}
		if len(next) > 0 && next[0] != '\n' {
			t.line++
		}
	}
	t.reader.Discard(len(text))
}

// buffered gives what is read ahead of the open input, at least a byte; io.EOF at its end.
func (t *texts) buffered() ([]byte, error) {
	if _, err := t.reader.Peek(1); err != nil {
		if err == io.EOF {
			return nil, err
		}
		return nil, t.located(err)
	}
	return t.reader.Peek(t.reader.Buffered())
}

// readLine reads a line of the open input, of at most maxRecord bytes, with its line break cut off. A line ends with LF, CR LF or CR;
// ending reports which, for quoted fields that go on in the next line.
func (t *texts) readLine() ([]byte, error) {
	t.long = t.long[:0]
	for {
		chunk, _ := t.reader.Peek(t.reader.Buffered())
		if len(chunk) == 0 {
			_, err := t.reader.Peek(1)
			if err == nil {
				continue
			}
			return t.lastLine(err)
		}
		n := t.lineEnd(chunk)
		if n < len(chunk) {
			return t.endLine(chunk, n), nil
		}
		// The line goes on behind what is buffered.
		if len(t.long)+n > maxRecord {
			t.line++
			return nil, t.located(fmt.Errorf("a record of more than %d bytes", maxRecord))
		}
		if n < t.reader.Size() && len(t.long) == 0 {
			if _, err := t.reader.Peek(n + 1); err == nil {
				continue
			}
			chunk, _ = t.reader.Peek(n) // what was buffered may have moved
		}
		t.long = append(t.long, chunk...)
		t.discard(n)
	}
}

// lastLine is the line that ends with its input, or the error that reading ended with.
func (t *texts) lastLine(err error) ([]byte, error) {
	t.ending = nil
	switch {
	case err == io.EOF && len(t.long) > 0:
		return t.long, nil
	case err == io.EOF:
		return nil, err
	}
	t.line++
	return nil, t.located(err)
}

// endLine takes a line whose break begins at chunk[n].
func (t *texts) endLine(chunk []byte, n int) []byte {
	size := 1
	if chunk[n] == '\r' {
		if n+1 == len(chunk) { // whether LF follows is not read yet
			if n+2 > t.reader.Size() {
				t.long = append(t.long, chunk[:n]...)
				t.discard(n)
				n = 0
			}
			chunk, _ = t.reader.Peek(n + 2)
		}
		if n+1 < len(chunk) && chunk[n+1] == '\n' {
			size = 2
		}
	}
	line := chunk[:n]
	t.ending = lineBreaks[2-size:]
	if size == 1 && chunk[n] == '\r' {
		t.ending = lineBreaks[:1]
	}
	if len(t.long) > 0 {
		t.long = append(t.long, line...)
		line = t.long
	}
	t.discard(n + size)
	return line
}

// lineBreaks is CR LF, of which every line break is a part.
var lineBreaks = []byte("\r\n")

// lineEnd is where the first CR or LF of a chunk stands, or its length. Each byte is looked at once for each of the two, however many
// lines end with the other.
func (t *texts) lineEnd(chunk []byte) int {
	return min(nextByte(chunk, '\r', &t.noCR), nextByte(chunk, '\n', &t.noLF))
}

// nextByte is where a byte stands first, or the length of the chunk; free is how much of the chunk's start is known to have none.
func nextByte(chunk []byte, b byte, free *int) int {
	if *free < len(chunk) && chunk[*free] != b {
		if i := bytes.IndexByte(chunk[*free:], b); i >= 0 {
			*free += i
		} else {
			*free = len(chunk)
		}
	}
	return min(*free, len(chunk))
}

func (t *texts) discard(n int) {
	t.reader.Discard(n)
	t.noCR, t.noLF = max(0, t.noCR-n), max(0, t.noLF-n)
}

func (t *texts) located(err error) error { return located(err, t.name(), t.line) }

// Close ends whatever is open.
func (t *texts) Close() error {
	t.at = len(t.inputs)
	if t.body == nil {
		return nil
	}
	err := t.body.Close()
	t.body = nil
	return err
}
