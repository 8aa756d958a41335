package fileio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/shardcat/shardcat/internal/parallel"
)

// maxLookahead bounds the text that is read ahead of a stream for inference, in bytes.
const maxLookahead = 16 << 20

// errNotYet is returned by a lookahead that must not wait.
var errNotYet = errors.New("no more input yet")

// lookahead reads a stream in a goroutine, so that inference can stop waiting for it: a stalled writer must not hold back the
// records that have come.
type lookahead struct {
	chunks chan chunk
	quit   chan struct{}
	once   sync.Once
	below  io.Closer

	head []byte // received, not read yet
	err  error  // reading ended with it
	// noWait makes Read return errNotYet where it would wait.
	noWait bool
}

type chunk struct {
	text []byte
	err  error
}

func newLookahead(r io.Reader, below io.Closer) *lookahead {
	l := &lookahead{chunks: make(chan chunk), quit: make(chan struct{}), below: below}
	go l.pump(r)
	return l
}

// pump sends what a reader gives until it ends or the lookahead is closed.
func (l *lookahead) pump(r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		var c chunk
		c.err = parallel.Guarded(func() error {
			n, err := r.Read(buf)
			c.text = bytes.Clone(buf[:n])
			return err
		})
		select {
		case l.chunks <- c:
		case <-l.quit:
			return
		}
		if c.err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (l *lookahead) Read(p []byte) (int, error) {
	for len(l.head) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		if l.noWait {
			return 0, errNotYet
		}
		l.take(<-l.chunks)
	}
	n := copy(p, l.head)
	l.head = l.head[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *lookahead) Close() error {
	l.once.Do(func() { close(l.quit) })
	return l.below.Close()
}

func (l *lookahead) take(c chunk) { l.head, l.err = append(l.head, c.text...), c.err }

// more waits for the next chunk.
func (l *lookahead) more(ctx context.Context) error {
	select {
	case c := <-l.chunks:
		l.take(c)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gather reads ahead until the head has so many lines or maxLookahead bytes, the stream ends, or wait has passed since its
// first bytes.
func (l *lookahead) gather(ctx context.Context, lines int, wait time.Duration) error {
	if err := l.more(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	seen, at := 0, 0
	for l.err == nil {
		seen, at = seen+bytes.Count(l.head[at:], lineBreaks[1:]), len(l.head)
		if seen > lines || at >= maxLookahead {
			return nil
		}
		select {
		case c := <-l.chunks:
			l.take(c)
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// ended reports whether the head is all that comes.
func (l *lookahead) ended() bool { return l.err != nil }

// sampled is a source's look ahead of the first of its inputs that can be read only once.
type sampled struct {
	*lookahead
	inputs []input // that one and those before it
	texts  *texts
}

// lookAhead reads ahead of the first stream of some inputs, if the options bound the wait for it and something is to be found out;
// nil otherwise. What it has read is the start of the stream for every texts of the inputs.
func lookAhead(ctx context.Context, inputs []input, open func() *texts, o SourceOptions) (*sampled, error) {
	k := slices.IndexFunc(inputs, func(in input) bool { return in.stream != nil })
	infers := o.Schema == nil && o.InferRows != AllRows && o.UnknownFields != ExtendByUnknown
	sniffs := o.Format == CSV && (o.Comma == 0 || o.Header == AutoHeader)
	if o.InferWait <= 0 || k < 0 || !infers && !sniffs {
		return nil, nil
	}
	t := open()
	t.at = k
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	l := newLookahead(t.reader, t.body)
	inputs[k].ahead = l
	lines := sniffRecords
	if infers {
		lines = max(lines, o.InferRows)
	}
	err := l.gather(ctx, lines, o.InferWait)
	for err == nil && o.Format == CSV && !l.ended() && !bytes.ContainsAny(l.head, "\r\n") {
		err = l.more(ctx) // half a line reports nothing of its fields
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return &sampled{l, inputs[:k+1], t}, nil
}

// sample gives the inputs as far as they have come. A text that parts its records by lines is cut behind the last whole line.
func (s *sampled) sample(byLine bool) *texts {
	head := s.head
	if byLine && !s.ended() {
		head = head[:bytes.LastIndexAny(head, "\r\n")+1]
	}
	t := *s.texts
	t.inputs, t.at, t.body, t.reader = slices.Clone(s.inputs), 0, nil, nil
	t.inputs[len(t.inputs)-1].ahead = &lookahead{head: head, err: io.EOF, quit: make(chan struct{}), below: io.NopCloser(nil)}
	return &t
}

// openAhead begins with an input that was read ahead.
func (t *texts) openAhead(l *lookahead) {
	t.body, t.ahead, t.line, t.noCR, t.noLF = l, l, 0, 0, 0
	t.reader = bufio.NewReaderSize(l, 256<<10)
}
