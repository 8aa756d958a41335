package urlresolve

import (
	"regexp"
	"sync"
)

// pattern compiles an expression when it is first requested: who starts the command to see its version needs none.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
