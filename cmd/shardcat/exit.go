package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/urlresolve"
)

// The exit codes of every command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCorrupt     = 3 // corrupt or unsupported data
	exitNotFound    = 4
	exitConflict    = 5
	exitUnsafe      = 6 // refused as unsafe
	exitInterrupted = 130
)

// usageError is a command line that can't be understood.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// eitherOf refuses a command line with both of two arguments, or with neither.
func eitherOf(hasOne, hasOther bool, one, other string) error {
	switch {
	case hasOne && hasOther:
		return usagef("%s and %s exclude each other", one, other)
	case !hasOne && !hasOther:
		return usagef("missing argument: %s, or %s", one, other)
	}
	return nil
}

// asUsage makes an error a usage error if it is of the given kind: a field named on the command line, say.
func asUsage(err, kind error) error {
	if errors.Is(err, kind) {
		return usageError{err}
	}
	return err
}

// exitError gives an error an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// exitCode is the code that an error ends the command with.
func exitCode(ctx context.Context, err error) int {
	var own exitError
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &own):
		return own.code
	case errors.As(err, new(usageError)), errors.As(err, new(*fileformat.OptionError)), errors.As(err, new(*filter.BindError)), errors.Is(err, fileformat.ErrMissing), isCobraUsage(err), errors.Is(err, catalog.ErrInvalid):
		return exitUsage
	}
	for _, class := range []struct {
		sentinel error
		code     int
	}{
		{urlresolve.ErrRefused, exitUnsafe},
		{catalog.ErrUnsafe, exitUnsafe},
		{blobio.ErrNoCondition, exitUnsafe},
		{corrupt.ErrCorrupt, exitCorrupt},
		{blobio.ErrDamaged, exitCorrupt},
		{corrupt.ErrUnsupported, exitCorrupt},
		{fileio.ErrRecord, exitCorrupt},
		{fileio.ErrUnknownFormat, exitCorrupt},
		{convert.ErrLossy, exitCorrupt},
		{catalog.ErrConflict, exitConflict},
		{catalog.ErrExists, exitConflict},
		{blobio.ErrExists, exitConflict},
		{catalog.ErrNotFound, exitNotFound},
		{fileio.ErrNoInput, exitNotFound},
		{blobio.ErrNotFound, exitNotFound},
	} {
		if errors.Is(err, class.sentinel) {
			return class.code
		}
	}
	return exitFailed
}

// flagGroup is cobra's complaint about flags that exclude each other.
var flagGroup = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)

// plainUsage gives cobra's complaint about flags that exclude each other in plain words; other errors are left as they are.
func plainUsage(err error) error {
	if err == nil {
		return nil
	}
	if m := flagGroup.FindStringSubmatch(err.Error()); m != nil {
		return usagef("--%s exclude each other", strings.Join(strings.Fields(m[1]), " and --"))
	}
	return err
}

// isCobraUsage recognises cobra's own complaints, which have no type.
func isCobraUsage(err error) bool {
	for _, start := range []string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument",
		"flag needs an argument", "required flag", "accepts ", "requires at least", "requires at most", "bad flag syntax", "at least one of the flags"} {
		if strings.HasPrefix(err.Error(), start) {
			return true
		}
	}
	return false
}

// className names an exit code for programs.
func className(code int) string {
	names := map[int]string{
		exitUsage: "usage", exitCorrupt: "corrupt", exitNotFound: "not_found", exitConflict: "conflict",
		exitUnsafe: "unsafe", exitInterrupted: "interrupted",
	}
	if name, ok := names[code]; ok {
		return name
	}
	return "failed"
}
