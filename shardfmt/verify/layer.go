package verify

import (
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// layerIndex is an index in a layer file.
type layerIndex struct {
	descriptor *metapb.IndexDescriptor
	// anchor is the object that describes it, records are how many it is of.
	anchor  string
	records uint64
}

// readLayer checks the layer file of an index: every block by its checksum and its order, every position by the records there are.
func (v *verifier) readLayer(o *object) error {
	x, err := layerindex.Open(v.ctx, v.st, o.layer.anchor, o.layer.descriptor, v.o.Policy)
	if err != nil {
		return err
	}
	report, err := x.Verify(v.ctx, o.layer.records)
	if err != nil {
		return err
	}
	v.checked(report.Bytes)
	v.report.UnprotectedBytes += report.UnprotectedBytes
	for _, e := range report.Errors {
		v.found(e.Object, e.Offset, "%s", e.What)
	}
	for _, w := range report.Warnings {
		v.report.Warnings = append(v.report.Warnings, o.url+": "+w)
	}
	return nil
}
