package merge

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

const (
	// leastByStripes and mostByStripes are between which sizes of all descriptors a root is laid out by stripes. A smaller
	// one is read whole. Of a larger one, that would cost more than a request is worth: there a reader of few columns of all
	// stripes must find them together.
	leastByStripes = 64 << 10
	mostByStripes  = 1 << 20
)

// note collects the bounds of the next descriptor, as long as they may be of use.
func (m *merger) note(d *metapb.FieldDescriptor) {
	if m.bounds == nil {
		return
	}
	if m.bounds.Add(d); m.root.Len() > mostByStripes || m.bounds.Len() > mostByStripes {
		m.bounds = nil
	}
}

// arrange decides how the descriptors are laid out, which are there by columns: by stripes if the root is of a size of
// which parts are read.
func (m *merger) arrange(context.Context) error {
	if m.bounds == nil || m.root.Len() < leastByStripes || len(m.stripes) < 3 {
		return nil
	}
	m.byStripes, m.columns, m.root = true, m.root, meta.NewRootBuilder()
	return nil
}

// layStripe copies the descriptors of a stripe from the columns.
func (m *merger) layStripe(st *stripe) {
	for id, ref := range st.fields {
		if ref != nil {
			st.fields[id] = m.root.AddPayload(m.columns.Payload(ref))
		}
	}
}
