package column

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// IsBytes reports whether the values of a node are stored as byte strings.
func IsBytes(n *schema.Node) bool {
	switch n.Basic {
	case schema.String, schema.Binary, schema.FixedSizeBinary, schema.Guid:
		return true
	}
	return false
}

// alternativesEncoder is a field that is stored in several encodings: the stripe's own first, then one for each further
// profile. Only the first collects statistics.
type alternativesEncoder struct {
	Encoder
	others []Encoder
}

func newAlternativesEncoder(node *schema.Node, o *Options, profiles []encode.Profile) (Encoder, error) {
	own := *o
	own.Encodings = nil
	first, err := NewEncoder(node, &own)
	e := &alternativesEncoder{Encoder: first}
	for _, p := range profiles {
		if err != nil {
			return nil, err
		}
		other := Options{Profile: p, SparseUnions: o.SparseUnions, Hints: o.Hints, Stats: func(*schema.Node) stats.Options {
			return stats.Options{Plain: true, Bloom: stats.BloomNever}
		}}
		var x Encoder
		x, err = NewEncoder(node, &other)
		e.others = append(e.others, x)
	}
	return e, err
}

func (e *alternativesEncoder) Add(a arrow.Array) error {
	a = arrowtype.Plain(a)
	defer a.Release()
	for _, x := range e.others {
		if err := x.Add(a); err != nil {
			return err
		}
	}
	return e.Encoder.Add(a)
}

func (e *alternativesEncoder) Finish(yield func(*Encoded) error) error {
	var alternatives [][]Buffer
	for _, x := range e.others {
		err := x.Finish(func(made *Encoded) error {
			alternatives = append(alternatives, made.Buffers)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return e.Encoder.Finish(func(made *Encoded) error {
		if len(made.Buffers) > 0 { // a constant needs none, in any encoding
			made.Alternatives = alternatives
		}
		return yield(made)
	})
}

func (e *alternativesEncoder) Size() int {
	n := e.Encoder.Size()
	for _, x := range e.others {
		n += x.Size()
	}
	return n
}
