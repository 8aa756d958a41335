package main

import (
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/internal/parallel"
)

// errInternal is a fault of the program itself: it ends with exit code 1 and one line, not with a trace and the code
// of a usage error.
var errInternal = errors.New("internal error")

// guarded runs a command; a panic becomes an error that names the current object, one in another goroutine too.
func (a *app) guarded(command func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = a.internal(v)
		}
	}()
	err = command()
	switch p := (*parallel.Panic)(nil); {
	case !errors.As(err, &p):
		return err
	case err == error(p):
		return a.internal(p.Value)
	}
	return fmt.Errorf("%w; please report it", err) // it names the object
}

func (a *app) internal(v any) error {
	if p, ok := v.(*parallel.Panic); ok {
		v = p.Value
	}
	if a.at == "" {
		return fmt.Errorf("%w: %v; please report it", errInternal, v)
	}
	return fmt.Errorf("%w at %s: %v; please report it", errInternal, a.at, v)
}
