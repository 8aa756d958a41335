package foreign

import (
	"io"
	"sync/atomic"
)

// meter counts what is read of the inputs of a source. Nil counts nothing.
type meter struct {
	read, total atomic.Int64
	tell        func(read, total int64)
}

// metered gives the inputs one meter, if o asks for it.
func metered(inputs []input, o SourceOptions) {
	if o.Progress == nil {
		return
	}
	m := &meter{tell: o.Progress}
	text := o.Format == NDJSON || o.Format == CSV
	passes := int64(1)
	if text && (o.UnknownFields == ExtendByUnknown || o.Schema == nil && o.InferRows == AllRows) {
		passes = 2
	}
	total := int64(0)
	for i := range inputs {
		inputs[i].meter = m
		if inputs[i].size == 0 {
			passes = 0 // a pipe, or a folder that one input is
		}
		total += inputs[i].size
	}
	m.total.Store(passes * total)
}

func (m *meter) add(n int) {
	if m != nil && n > 0 {
		m.tell(m.read.Add(int64(n)), m.total.Load())
	}
}

// reader counts what is read of r.
func (m *meter) reader(r io.ReadCloser) io.ReadCloser {
	if m == nil {
		return r
	}
	return &meteredReader{r, m}
}

type meteredReader struct {
	io.ReadCloser
	meter *meter
}

// Read implements io.Reader.
func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.meter.add(n)
	return n, err
}
