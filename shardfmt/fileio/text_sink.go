package fileio

import (
	"io"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/parallel"
)

// textSink writes a line a record. The records of a batch become text on several workers, piece by piece, and are written in order.
type textSink struct {
	w io.Writer
	// rows makes what renders the records of a batch, each with its end of line. What it makes is used by one worker.
	rows func(arrow.RecordBatch) render
	// head stands before the first record, also where there is none.
	head    []byte
	workers int
	// text of each worker.
	text [][]byte
	// written counts the records so far, and bytes their text.
	written, bytes int
}

// A worker takes at most pieceRows records at once, and fewer if they would make more than some pieceBytes of text, going by those before.
// There are at most maxRenderers workers, for only one writes at a time.
const (
	pieceRows    = 1024
	pieceBytes   = 256 << 10
	maxRenderers = 16
)

func newTextSink(w io.Writer, o SinkOptions, rows func(arrow.RecordBatch) render) *textSink {
	s := &textSink{w: w, rows: rows, workers: o.Workers}
	if s.workers <= 0 {
		s.workers = min(runtime.GOMAXPROCS(0), maxRenderers)
	}
	s.text = make([][]byte, s.workers)
	return s
}

// Write implements Sink.
func (s *textSink) Write(batch arrow.RecordBatch) error {
	if err := s.begin(); err != nil || batch.NumRows() == 0 {
		return err
	}
	rows, first := int(batch.NumRows()), s.rows(batch)
	size := s.pieceRows(first)
	pieces := (rows + size - 1) / size
	renders := append(make([]render, 0, s.workers), first)
	for len(renders) < min(s.workers, pieces) {
		renders = append(renders, s.rows(batch))
	}
	return parallel.InTurn(len(renders), pieces, func(worker, piece int) error {
		s.render(renders[worker], worker, piece*size, min(rows, (piece+1)*size))
		return nil
	}, func(worker, piece int) error {
		n, err := s.w.Write(s.text[worker])
		s.written += min(size, rows-piece*size)
		s.bytes += n
		return err
	})
}

// pieceRows is how many records of a batch make a piece. Of the first batch its first record reports.
func (s *textSink) pieceRows(row render) int {
	if s.written == 0 {
		return min(pieceRows, pieceBytes/len(row(nil, 0))+1)
	}
	return min(pieceRows, pieceBytes*s.written/s.bytes+1)
}

// render makes the text of the records from one to before another.
func (s *textSink) render(row render, worker, from, to int) {
	text := s.text[worker][:0]
	for i := from; i < to; i++ {
		text = row(text, i)
	}
	s.text[worker] = text
}

func (s *textSink) begin() error {
	if s.head == nil {
		return nil
	}
	_, err := s.w.Write(s.head)
	s.head = nil
	return err
}

// Close implements Sink: a header is written even if no record came.
func (s *textSink) Close() error { return s.begin() }
