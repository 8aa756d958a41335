package blobio

import (
	"context"
	"io"
)

// stream reads an object to its end and opens it again where its body breaks.
type stream struct {
	r      *retrying
	ctx    context.Context
	opts   ReadOptions // which pin later reads to the first answer's object
	key    string
	off    int64 // of the next byte
	info   Info
	tries  *tries
	body   io.ReadCloser // nil between a failure and the next attempt
	closed bool
}

// open makes one attempt.
func (s *stream) open() error {
	body, info, err := s.r.Bucket.Open(s.ctx, s.key, s.off, s.opts)
	if err != nil {
		return err
	}
	s.body = body
	if s.info.ETag == "" {
		s.info = info
		if s.opts.IfMatch == "" {
			s.opts.IfMatch = info.ETag
		}
	}
	return nil
}

// Read implements io.Reader. It ends in io.EOF only at the object's end.
func (s *stream) Read(p []byte) (int, error) {
	if s.closed {
		return 0, NewError("read", s.key, ErrClosed, nil)
	}
	for {
		n, err := s.readOnce(p)
		if n > 0 {
			s.off += int64(n)
			s.tries.progress()
			return n, nil
		}
		if err == nil && len(p) == 0 || err == io.EOF {
			return 0, err
		}
		if err == nil {
			continue
		}
		if err := s.tries.again(s.ctx, err); err != nil {
			return 0, err
		}
	}
}

func (s *stream) readOnce(p []byte) (int, error) {
	if s.body == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.body.Read(p)
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF && s.off+int64(n) >= s.info.Size:
		return n, io.EOF
	case err == io.EOF:
		err = NewError("read", s.key, ErrTransient, io.ErrUnexpectedEOF)
	}
	s.drop()
	return n, err
}

func (s *stream) drop() {
	if s.body != nil {
		s.body.Close()
		s.body = nil
	}
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.closed = true
	s.drop()
	return nil
}
