package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Limits of Arrow IPC messages, in bytes: a message is read whole before it is known to be sound.
const (
	maxArrowMetadata = 64 << 20
	maxArrowBody     = 1 << 30
)

var arrowMagic = []byte("ARROW1")

// arrowLimits bounds messages by the size of the file, as far as it is known.
func arrowLimits(size int64) []ipc.Option {
	return []ipc.Option{ipc.WithMetadataSizeLimit(min(size, maxArrowMetadata)), ipc.WithBodySizeLimit(min(size, maxArrowBody))}
}

// sound tells whether a batch of unknown origin may be read without harm.
func sound(batch arrow.RecordBatch) error {
	for _, c := range batch.Columns() {
		if holdsNull(c.DataType()) {
			continue // Arrow's check expects a buffer of null arrays, which they don't have in IPC
		}
		if err := array.ValidateFull(c); err != nil {
			return damaged(err)
		}
	}
	return nil
}

func holdsNull(t arrow.DataType) bool {
	n, ok := t.(arrow.NestedType)
	if !ok {
		return t.ID() == arrow.NULL
	}
	for _, f := range n.Fields() {
		if holdsNull(f.Type) {
			return true
		}
	}
	return false
}

// openArrow opens an Arrow IPC file or stream, told by the magic that only files have.
func openArrow(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (batchFile, error) {
	r, err := in.open(ctx, sp)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(r, 256<<10)
	head, _ := b.Peek(len(arrowMagic))
	if !bytes.Equal(head, arrowMagic) {
		start, err := schemaMessage(b)
		if err != nil {
			r.Close()
			return nil, err
		}
		// Only a message reader heeds the limits.
		m := ipc.NewMessageReader(io.MultiReader(bytes.NewReader(start), b), arrowLimits(maxArrowBody)...)
		s, err := ipc.NewReaderFromMessageReader(m)
		if err != nil {
			r.Close()
			return nil, damaged(err)
		}
		return &arrowStream{s, r}, nil
	}
	if in.stream == nil {
		r.Close()
		return openArrowFile(in.openRandom(ctx, sp))
	}
	defer r.Close()
	return openArrowFile(spool(b))
}

// schemaMessage reads the first message of a stream up to the end of its metadata, and checks it.
func schemaMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, damaged(err)
	}
	size, known := binary.LittleEndian.Uint32(head), 0
	if size == 0xFFFFFFFF {
		size = binary.LittleEndian.Uint32(head[4:])
	} else {
		known = 4 // before Arrow 0.15 there was no marker
	}
	if size < 4 || size > maxArrowMetadata {
		return nil, damaged(arrowtype.ErrSchema)
	}
	var rest bytes.Buffer
	rest.Write(head)
	if _, err := io.CopyN(&rest, r, int64(size)-int64(known)); err != nil {
		return nil, damaged(err)
	}
	if err := arrowtype.CheckSchemaMessage(rest.Bytes()[8-known:]); err != nil {
		return nil, damaged(err)
	}
	return rest.Bytes(), nil
}

// checkFooter checks the footer of a file: | … | footer | its length, 4 bytes | ARROW1 |.
func checkFooter(r random) error {
	tail := make([]byte, 4+len(arrowMagic))
	at := r.Size() - int64(len(tail))
	if at < 0 {
		return damaged(io.ErrUnexpectedEOF)
	}
	if _, err := r.ReadAt(tail, at); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	if size > at || size > maxArrowMetadata {
		return damaged(arrowtype.ErrSchema)
	}
	footer := make([]byte, size)
	if _, err := r.ReadAt(footer, at-size); err != nil {
		return err
	}
	if err := arrowtype.CheckFooter(footer); err != nil {
		return damaged(err)
	}
	return nil
}

// damaged is an error of a library that reads a file's bytes.
func damaged(err error) error {
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: "the file can't be read", Err: err}
}

// arrowStream is the streaming form.
type arrowStream struct {
	r    *ipc.Reader
	body io.Closer
}

func (s *arrowStream) schema() *arrow.Schema { return s.r.Schema() }

func (s *arrowStream) next(context.Context) (b arrow.RecordBatch, err error) {
	defer guard(&err, "Arrow stream")
	if s.r.Next() {
		return s.r.RecordBatch(), sound(s.r.RecordBatch())
	}
	if err := s.r.Err(); err != nil && err != io.EOF {
		return nil, damaged(err)
	}
	return nil, io.EOF
}

func (s *arrowStream) close() error {
	s.r.Release()
	return s.body.Close()
}

// arrowFile is the form with a footer.
type arrowFile struct {
	r    *ipc.FileReader
	body io.Closer
	at   int
	last arrow.RecordBatch
}

func openArrowFile(r random, err error) (batchFile, error) {
	if err != nil {
		return nil, err
	}
	if err := checkFooter(r); err != nil {
		r.Close()
		return nil, err
	}
	f, err := ipc.NewFileReader(r, arrowLimits(max(r.Size(), 1))...)
	if err != nil {
		r.Close()
		return nil, damaged(err)
	}
	return &arrowFile{r: f, body: r}, nil
}

func (f *arrowFile) schema() *arrow.Schema { return f.r.Schema() }

func (f *arrowFile) next(context.Context) (b arrow.RecordBatch, err error) {
	defer guard(&err, "Arrow file")
	f.release()
	if f.at == f.r.NumRecords() {
		return nil, io.EOF
	}
	if f.last, err = f.r.RecordBatchAt(f.at); err != nil {
		return nil, damaged(err)
	}
	f.at++
	return f.last, sound(f.last)
}

func (f *arrowFile) release() {
	if f.last != nil {
		f.last.Release()
		f.last = nil
	}
}

func (f *arrowFile) close() error {
	f.release()
	f.r.Close()
	return f.body.Close()
}
