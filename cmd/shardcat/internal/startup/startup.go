// Package startup keeps work out of the start of the command that only other programs need. It is for cmd/shardcat
// alone: what it changes is global.
//
// The scanner of iceberg-go loads, when its package is initialised, the whole of Substrait's catalogue of functions: a
// megabyte of YAML, 530,000 allocations and 0.1 s of processor time before main begins. The command never scans by it; it
// links it with the table's metadata. There is no setting, so the first request for the catalogue, which is that of the
// initialisation, is given an empty one. It is named as the catalogue that the scanner would add to it, so that this isn't
// loaded either. Later callers get the real one.
//
// That works because packages are initialised in the order of their paths as soon as their imports are: this one, which
// imports the catalogue only, before substrait-go/v8/expr, which the scanner waits for. docs/design/start.md reports what an upgrade of
// either library can break, and which tests notice.
package startup

import (
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/substrait-io/substrait-go/v8/extensions"
)

// catalogue is the variable behind extensions.GetDefaultCollection.
//
//go:linkname catalogue github.com/substrait-io/substrait-go/v8/extensions.getDefaultCollectionOnce
var catalogue func() (*extensions.Collection, error)

// scanner is the name of the catalogue that iceberg-go's scanner adds of its own, unless there is one of that name: the one without
// functions that it is given has it.
const scanner = "extension:apache.iceberg:functions_set"

func init() {
	load := catalogue
	catalogue = func() (*extensions.Collection, error) {
		catalogue = load
		var empty extensions.Collection
		return &empty, empty.Load(scanner, strings.NewReader("urn: "+scanner))
	}
}
