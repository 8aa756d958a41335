package startup

import (
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/apache/arrow-go/v18/arrow/compute"

	// Keeps compute from registering its functions when it is initialised.
	_ "github.com/shardcat/shardcat/cmd/shardcat/internal/startup/holdback"
)

// registry is what compute.GetFunctionRegistry gives, and execution what compute.DefaultExecCtx does: package holdback leaves the
// one and the registry of the other nil.
var (
	//go:linkname registry github.com/apache/arrow-go/v18/arrow/compute.registry
	registry compute.FunctionRegistry
	//go:linkname execution github.com/apache/arrow-go/v18/arrow/compute.defaultExecCtx
	execution compute.ExecCtx
)

func init() {
	registry = functions{}
	execution.Registry = registry
}

// functions are those of package compute, registered when one is first asked for. They can be the parent of no other registry.
type functions struct {
	compute.FunctionRegistry // nil, for its unexported method
}

// registerFunctions registers what compute.GetFunctionRegistry does.
var registerFunctions = sync.OnceValue(func() compute.FunctionRegistry {
	r := compute.NewRegistry()
	for _, register := range []func(compute.FunctionRegistry){
		compute.RegisterScalarCast, compute.RegisterVectorSelection, compute.RegisterScalarNested, compute.RegisterVectorSort,
		compute.RegisterScalarBoolean, compute.RegisterScalarArithmetic, compute.RegisterScalarComparisons, compute.RegisterVectorHash,
		compute.RegisterVectorCumulative, compute.RegisterVectorRunEndFuncs, compute.RegisterScalarSetLookup,
	} {
		register(r)
	}
	return r
})

func (functions) CanAddFunction(fn compute.Function, allowOverwrite bool) bool {
	return registerFunctions().CanAddFunction(fn, allowOverwrite)
}

func (functions) AddFunction(fn compute.Function, allowOverwrite bool) bool {
	return registerFunctions().AddFunction(fn, allowOverwrite)
}

func (functions) CanAddAlias(target, source string) bool {
	return registerFunctions().CanAddAlias(target, source)
}

func (functions) AddAlias(target, source string) bool {
	return registerFunctions().AddAlias(target, source)
}

func (functions) GetFunction(name string) (compute.Function, bool) {
	return registerFunctions().GetFunction(name)
}

func (functions) GetFunctionNames() []string { return registerFunctions().GetFunctionNames() }

func (functions) NumFunctions() int { return registerFunctions().NumFunctions() }
