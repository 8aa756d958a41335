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
	stdin  io.Reader
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
	body, err := t.inputs[t.at].open(ctx, t.sp, t.stdin)
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

// next gives the next line without its end, valid until the next call; io.EOF after the last of all inputs.
// Every line is checked to be UTF-8.
func (t *texts) next(ctx context.Context) ([]byte, error) {
	for {
		if err := t.open(ctx); err != nil {
			return nil, err
		}
		line, err := t.readLine()
		if err == io.EOF {
			if err := t.close(); err != nil {
				return nil, err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		t.line++
		if !utf8.Valid(line) {
			return nil, t.located(errors.New("invalid UTF-8"))
		}
		return line, nil
	}
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
	if err != nil && err != io.EOF {
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
