package shardsql

/*
#include <stdlib.h>

extern void shardcatBind(void*);
extern void shardcatInit(void*);
extern void shardcatNext(void*, void*);
extern void shardcatReplace(void*, char*, void*);
extern void shardcatFree(void*);
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"github.com/shardcat/shardcat/internal/parallel"
)

// Function is the table function of DuckDB that reads a table by name. A name in FROM that is none of DuckDB's is read by it
// as well.
const Function = "shardcat_scan"

// planned is the function that stands in rewritten queries; its second argument is the number of the scan in the query.
const planned = "shardcat_planned_scan"

// register makes the functions known, and names without quotes in FROM.
func (e *Engine) register() error {
	text, number := duckdb.CreateLogicalType(duckdb.TypeVarchar), duckdb.CreateLogicalType(duckdb.TypeBigInt)
	defer duckdb.DestroyLogicalType(&text)
	defer duckdb.DestroyLogicalType(&number)
	for name, parameters := range map[string][]duckdb.LogicalType{Function: {text}, planned: {text, number}} {
		f := duckdb.CreateTableFunction()
		duckdb.TableFunctionSetName(f, name)
		for _, p := range parameters {
			duckdb.TableFunctionAddParameter(f, p)
		}
		duckdb.TableFunctionSetExtraInfo(f, e.handle, nil)
		duckdb.TableFunctionSetBind(f, C.shardcatBind)
		duckdb.TableFunctionSetInit(f, C.shardcatInit)
		duckdb.TableFunctionSetFunction(f, C.shardcatNext)
		duckdb.TableFunctionSupportsProjectionPushdown(f, true)
		state := duckdb.RegisterTableFunction(e.conn, f)
		duckdb.DestroyTableFunction(&f)
		if state == duckdb.StateError {
			return errors.New("duckdb: can't register function " + name)
		}
	}
	duckdb.AddReplacementScan(e.db, C.shardcatReplace, e.handle, nil)
	return nil
}

func callocHandle() unsafe.Pointer { return C.calloc(1, C.size_t(unsafe.Sizeof(cgo.Handle(0)))) }

func freeHandle(p unsafe.Pointer) {
	(*(*cgo.Handle)(p)).Delete()
	C.free(p)
}

//export shardcatFree
func shardcatFree(p unsafe.Pointer) {
	if s, ok := (*(*cgo.Handle)(p)).Value().(interface{ release() }); ok {
		s.release()
	}
	freeHandle(p)
}

// guarded runs a callback; its error, or panic, is what the query fails with.
func guarded(tell func(message string), call func() (*query, error)) {
	var q *query
	err := parallel.Guarded(func() (err error) {
		q, err = call()
		return err
	})
	if err == nil {
		return
	}
	if q != nil {
		q.fail(err)
	}
	tell(err.Error())
}

//export shardcatBind
func shardcatBind(p unsafe.Pointer) {
	info := duckdb.BindInfo{Ptr: p}
	guarded(func(m string) { duckdb.BindSetError(info, m) }, func() (*query, error) {
		q := valueOf[*Engine](duckdb.BindGetExtraInfo(info)).current()
		if q == nil {
			return nil, errors.New("no query is running")
		}
		b, err := q.bind(info)
		if err != nil {
			return q, err
		}
		duckdb.BindSetBindData(info, newHandle(b), C.shardcatFree)
		return q, nil
	})
}

//export shardcatInit
func shardcatInit(p unsafe.Pointer) {
	info := duckdb.InitInfo{Ptr: p}
	guarded(func(m string) { duckdb.InitSetError(info, m) }, func() (*query, error) {
		b := valueOf[*bound](duckdb.InitGetBindData(info))
		s, err := b.start(info)
		if err != nil {
			return b.query, err
		}
		duckdb.InitSetInitData(info, newHandle(s), C.shardcatFree)
		duckdb.InitSetMaxThreads(info, duckdb.IdxT(readers))
		return b.query, nil
	})
}

//export shardcatNext
func shardcatNext(p, out unsafe.Pointer) {
	info := duckdb.FunctionInfo{Ptr: p}
	guarded(func(m string) { duckdb.FunctionSetError(info, m) }, func() (*query, error) {
		s := valueOf[*stream](duckdb.FunctionGetInitData(info))
		return s.bound.query, s.fill(duckdb.DataChunk{Ptr: out})
	})
}

//export shardcatReplace
func shardcatReplace(p unsafe.Pointer, name *C.char, data unsafe.Pointer) {
	q := valueOf[*Engine](data).current()
	if q == nil {
		return
	}
	table := C.GoString(name)
	if _, err := q.table(table); err != nil {
		return // a file, perhaps: DuckDB reports what it makes of it
	}
	info := duckdb.ReplacementScanInfo{Ptr: p}
	value := duckdb.CreateVarchar(table)
	defer duckdb.DestroyValue(&value)
	duckdb.ReplacementScanSetFunctionName(info, Function)
	duckdb.ReplacementScanAddParameter(info, value)
}
