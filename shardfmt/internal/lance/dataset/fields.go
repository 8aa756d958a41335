package dataset

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// idsOf are the ids of a field and of all below it.
func idsOf(n *lance.Node) map[int32]bool {
	out := map[int32]bool{}
	for _, f := range lance.Flatten([]*lance.Node{n}) {
		out[f.ID] = true
	}
	return out
}

// holder is the data file of a fragment that a field is read from, or -1 if it is null there.
func holder(f *fragment, n *lance.Node) (int, error) {
	ids, at := idsOf(n), -1
	for i, file := range f.files {
		for _, id := range file.fields {
			if !ids[id] || at == i {
				continue
			}
			if at >= 0 {
				return 0, corrupt.Unsupported(0, "field %q of fragment %d is spread over several data files", n.Name, f.id)
			}
			at = i
		}
	}
	return at, nil
}

// adapt makes the array of a field as the dataset has it of one as a file has it: members of structs by their ids, those
// that the file lacks null, those that the dataset no longer has left out.
func adapt(want, have *lance.Node, data arrow.ArrayData) (arrow.ArrayData, error) {
	f, err := want.Arrow()
	if err != nil {
		return nil, err
	}
	children := data.Children()
	if len(want.Children) == 0 {
		if !arrow.TypeEqual(f.Type, data.DataType()) {
			return nil, corrupt.At(0, "field %q is of type %s in the manifest, of %s in a data file", want.Name, f.Type, data.DataType())
		}
		return data, nil
	}
	if f.Type.ID() != data.DataType().ID() || len(children) != len(have.Children) {
		return nil, corrupt.At(0, "field %q is of type %s in the manifest, of %s in a data file", want.Name, f.Type, data.DataType())
	}
	out := make([]arrow.ArrayData, len(want.Children))
	for i, w := range want.Children {
		at := child(have, w.ID)
		if at >= 0 {
			if out[i], err = adapt(w, have.Children[at], children[at]); err != nil {
				return nil, err
			}
			continue
		}
		if f.Type.ID() != arrow.STRUCT {
			return nil, corrupt.At(0, "the items of field %q are in no data file", want.Name)
		}
		t, err := w.Arrow()
		if err != nil {
			return nil, err
		}
		out[i] = array.MakeArrayOfNull(memory.DefaultAllocator, t.Type, data.Offset()+data.Len()).Data()
	}
	return array.NewData(f.Type, data.Len(), data.Buffers(), out, data.NullN(), data.Offset()), nil
}

// child is the index of the child of an id, or -1.
func child(n *lance.Node, id int32) int {
	for i, c := range n.Children {
		if c.ID == id {
			return i
		}
	}
	return -1
}

// find the field of an id at the top of a file.
func top(f *lance.File, id int32) (int, error) {
	for i, n := range f.Fields() {
		if n.ID == id {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no field of id %d", id)
}
