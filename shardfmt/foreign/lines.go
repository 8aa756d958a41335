package foreign

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
	// line is the number of the last line read, from 1.
	line int64
	// ending is the line break that was cut off the last line.
	ending []byte
	long   []byte
}

// bom is the byte order mark that some programs put at the start of UTF-8 text.
var bom = []byte("\xef\xbb\xbf")

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
	body, err := t.inputs[t.at].open(ctx, t.sp)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name(), err)
	}
	t.body, t.reader, t.line = body, bufio.NewReaderSize(body, 256<<10), 0
	if head, _ := t.reader.Peek(len(bom)); bytes.Equal(head, bom) {
		t.reader.Discard(len(bom))
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

var errUTF8 = errors.New("invalid UTF-8: the text is in another encoding, convert it first (iconv -t UTF-8)")

// here gives the next line of the open input without its end, valid until the next call; io.EOF at its end. It is UTF-8.
func (t *texts) here() ([]byte, error) {
	line, err := t.readLine()
	if err != nil {
		return nil, err
	}
	t.line++
	if !utf8.Valid(line) {
		return nil, t.located(errUTF8)
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
			case '\n':
				t.line++
			case ' ', '\t', '\r':
			default:
				t.reader.Discard(i)
				return b, nil
			}
		}
		t.reader.Discard(len(chunk))
	}
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

// readLine reads a line of the open input, of at most maxRecord bytes, with its line break cut off.
func (t *texts) readLine() ([]byte, error) {
	line, err := t.reader.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		t.long = append(t.long[:0], line...)
		for err == bufio.ErrBufferFull {
			if len(t.long) > maxRecord {
				t.line++
				return nil, t.located(fmt.Errorf("a record of more than %d bytes", maxRecord))
			}
			line, err = t.reader.ReadSlice('\n')
			t.long = append(t.long, line...)
		}
		line = t.long
	}
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	if err == io.EOF {
		return nil, err
	}
	if err != nil {
		t.line++
		err = t.located(err)
	}
	text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	t.ending = line[len(text):]
	return text, err
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
