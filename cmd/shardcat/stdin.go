package main

import (
	"context"
	"io"
	"sync"
)

// input is standard input that ends with the context: a read of a pipe or terminal would wait on. It takes nothing
// from the stream before the first Read.
type input struct {
	ctx   context.Context
	from  io.Reader
	begin sync.Once
	pipe  *io.PipeReader
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	in.begin.Do(in.start)
	return in.pipe.Read(p)
}

// start copies in the background. A copy that waits for input when the context ends is left to the process's end.
func (in *input) start() {
	out, to := io.Pipe()
	in.pipe = out
	go func() {
		_, err := io.Copy(to, in.from)
		to.CloseWithError(err)
	}()
	context.AfterFunc(in.ctx, func() { to.CloseWithError(context.Cause(in.ctx)) })
}
