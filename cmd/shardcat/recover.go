package main

import (
	"errors"
	"fmt"
)

// errInternal is a fault of the program itself: it ends with exit code 1 and one line, not with a trace and the code
// of a usage error.
var errInternal = errors.New("internal error")

// guarded runs a command; a panic becomes an error that names the object at hand.
func (a *app) guarded(command func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = a.internal(v)
		}
	}()
	return command()
}

func (a *app) internal(v any) error {
	if a.at == "" {
		return fmt.Errorf("%w: %v; please report it", errInternal, v)
	}
	return fmt.Errorf("%w at %s: %v; please report it", errInternal, a.at, v)
}
