// Package holdback keeps packages from filling tables when they are initialised that few programs ask for. It is for
// cmd/shardcat alone: what it changes is global.
//
//	jinzhu/inflection   compiles 190 regular expressions to form plurals of English words. The mapper of the SQL catalog names
//	                    tables of structs by them which say no name of their own; those of the catalog all do.
//	arrow/compute       registers a few thousand kernels of some 200 functions. Package startup does that when one is first
//	                    asked for.
//
// Neither has a setting, so the rules of the first are taken away before it compiles them, and the registration of the other is
// told that it is done.
//
// Packages are initialised in the order of their paths as soon as their imports are. This one imports nothing but sync, for which
// both wait too and, before they can begin, for much that comes behind this one's path. A test of cmd/shardcat counts the
// allocations of a start, and so notices if this ceases to hold.
package holdback

import (
	"sync"
	_ "unsafe" // for go:linkname
)

// Rules of English, by the rows of inflection.RegularSlice, of inflection.IrregularSlice and of its uncountable words.
type (
	rule [2]string
	word string
)

var (
	//go:linkname plurals github.com/jinzhu/inflection.pluralInflections
	plurals []rule
	//go:linkname singulars github.com/jinzhu/inflection.singularInflections
	singulars []rule
	//go:linkname irregulars github.com/jinzhu/inflection.irregularInflections
	irregulars []rule
	//go:linkname uncountables github.com/jinzhu/inflection.uncountableInflections
	uncountables []word

	// registered is what compute.GetFunctionRegistry registers its functions by.
	//
	//go:linkname registered github.com/apache/arrow-go/v18/arrow/compute.once
	registered sync.Once
)

func init() {
	plurals, singulars, irregulars, uncountables = nil, nil, nil, nil
	registered.Do(func() {})
}
