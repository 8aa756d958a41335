package shardfmt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Project gives the part of the schema that columns, dotted paths, request, in the order in which their
// top-level fields are first named; nodes keep their numbers. A path to a field inside structs keeps the
// structs around it. Without columns it is all fields but the internal ones, with internal those too.
func (s *Shard) Project(ctx context.Context, columns []string, internal bool) (*schema.Schema, error) {
	if columns == nil {
		return s.allFields(ctx, internal)
	}
	view, err := s.root.SchemaView(ctx)
	if err != nil {
		return nil, err
	}
	p := projection{fields: slices.Grow([]*schema.Node(nil), len(columns)), whole: make(map[uint32]bool), part: make(map[uint32]bool)}
	for _, path := range columns {
		names := schema.SplitPath(path)
		top, err := view.FieldByName(names[0])
		if err != nil {
			return nil, err
		}
		if top == nil {
			return nil, s.noField(ctx, path)
		}
		if err := p.add(top, names[1:]); err != nil {
			return nil, errors.Join(err, s.noField(ctx, path))
		}
	}
	if err := s.root.MarkRequired(ctx, p.fields); err != nil {
		return nil, err
	}
	out := &schema.Schema{Count: view.Count(), Fields: slices.Grow([]*schema.Node(nil), len(p.fields))}
	for _, n := range p.fields {
		out.Fields = append(out.Fields, p.prune(n))
	}
	return out, nil
}

// noField is the error of a path that leads nowhere; it names what was meant.
func (s *Shard) noField(ctx context.Context, path string) error {
	all, err := s.root.Schema(ctx)
	if err != nil {
		return err
	}
	if _, err := all.Lookup(path); err != nil {
		return err
	}
	return fmt.Errorf("no field %q", path)
}

func (s *Shard) allFields(ctx context.Context, internal bool) (*schema.Schema, error) {
	all, err := s.root.Schema(ctx)
	if err != nil || internal {
		return all, err
	}
	out := &schema.Schema{Count: all.Count}
	for _, f := range all.Fields {
		if f.Internal == "" {
			out.Fields = append(out.Fields, f)
		}
	}
	return out, nil
}

// projection is the nodes that were requested, by number: with all below them, or for the sake of some child.
type projection struct {
	fields      []*schema.Node
	whole, part map[uint32]bool
}

func (p *projection) add(top *schema.Node, names []string) error {
	if !slices.ContainsFunc(p.fields, func(n *schema.Node) bool { return n.ID == top.ID }) {
		p.fields = append(p.fields, top)
	}
	n := top
	for _, name := range names {
		p.part[n.ID] = true
		if n = n.Child(name); n == nil {
			return fmt.Errorf("no field %q", name)
		}
	}
	p.whole[n.ID] = true
	return nil
}

// prune leaves out of n the members of structs that nobody requested.
func (p *projection) prune(n *schema.Node) *schema.Node {
	if p.whole[n.ID] || !p.part[n.ID] || n.Basic == schema.Union {
		return n
	}
	out := *n
	out.Children = nil
	for _, c := range n.Children {
		switch {
		case p.whole[c.ID] || p.part[c.ID]:
			out.Children = append(out.Children, p.prune(c))
		case n.Basic != schema.Struct: // a map needs both its children
			out.Children = append(out.Children, c)
		}
	}
	return &out
}
