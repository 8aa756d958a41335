package meta

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

const (
	// maxHops is how many references may lead from a property to the value that is meant.
	maxHops = 4
	// maxFollowed is how many references are followed for one property, and maxFollowedBytes how many bytes of messages are read
	// for it: a value may be a list of references, each of which is a request.
	maxFollowed      = 1024
	maxFollowedBytes = 16 << 20
)

// A value may be a reference: the message with the value, in a frame as any other, lies elsewhere. Such a message may hold a
// reference again, as a whole or in a list or struct. Its references without URL mean the object it lies in, the others are
// resolved as all references of the shard are, against its root.

// Follow gives v as it is meant when it stands in a message of the object anchor: with every reference in it replaced by the value
// that it leads to. A value without references is v itself; v is never changed. An annotation that the message of a value lacks is that of the
// reference.
//
// More than four references on the way to a value, a circle of them, and a value that takes more than 1,024 references or 16
// MiB are errors of stored data; what the policy refuses is urlresolve.ErrRefused.
func (r *Root) Follow(ctx context.Context, anchor string, v *metapb.AnyValue) (*metapb.AnyValue, error) {
	f := follower{ctx: ctx, root: r}
	return f.value(anchor, v, nil)
}

// FollowAll is Follow for all values of a property bag. What PropertyObjects refers to is data and no value; it stays as it is.
func (r *Root) FollowAll(ctx context.Context, anchor string, bag Properties) (Properties, error) {
	out := slices.Clone(bag)
	for i, p := range bag {
		if p.GetName() == PropertyObjects {
			continue
		}
		v, err := r.Follow(ctx, anchor, p.GetValue())
		if err != nil {
			return nil, err
		}
		if v != p.GetValue() {
			out[i] = Pair(p.GetName(), v)
		}
	}
	return out, nil
}

// Shorten gives v as a message of the object anchor may hold it that is copied into another root: a reference that leads to a value
// without references stays as it is, any other is replaced by its value, because what it leads to would mean something else
// from there. A reference that can't be followed stays, too. The bounds are those of Follow.
func (r *Root) Shorten(ctx context.Context, anchor string, v *metapb.AnyValue) (*metapb.AnyValue, error) {
	f := follower{ctx: ctx, root: r}
	return f.shorten(anchor, v)
}

func (f *follower) shorten(anchor string, v *metapb.AnyValue) (*metapb.AnyValue, error) {
	if v.GetDataRef() == nil {
		return eachMember(v, func(e *metapb.AnyValue) (*metapb.AnyValue, error) { return f.shorten(anchor, e) })
	}
	before := f.references
	meant, err := f.value(anchor, v, nil)
	switch {
	case isDamage(err):
		return v, nil
	case err != nil:
		return nil, err
	case f.references == before+1:
		return v, nil
	}
	return meant, nil
}

// VisitReferences calls visit with the canonical URL and the range of every message that references in v lead to, directly or by way of
// messages that hold references again. It goes on where one can't be followed because stored data is damaged or the policy refuses it, and returns
// one such error: urlresolve.ErrRefused if there is one, which a caller that passes over damage must not miss.
func (r *Root) VisitReferences(ctx context.Context, anchor string, v *metapb.AnyValue, visit func(object string, start, end int64)) error {
	f := follower{ctx: ctx, root: r, visit: visit, lenient: true}
	_, err := f.value(anchor, v, nil)
	if err == nil {
		err = f.damage
	}
	return err
}

// follower follows the references of one property.
type follower struct {
	ctx  context.Context
	root *Root
	// visit, if not nil, gets the object and range of each reference before it is read.
	visit func(object string, start, end int64)
	// lenient: damage is kept instead of returned, the first unless the policy refused something later.
	lenient bool
	damage  error

	references int
	bytes      int64
}

// value is v without references; way are the references that led to it.
func (f *follower) value(anchor string, v *metapb.AnyValue, way []place) (*metapb.AnyValue, error) {
	if x, ok := v.GetKind().(*metapb.AnyValue_DataRef); ok {
		out, err := f.reference(anchor, x.DataRef, way)
		if f.lenient && isDamage(err) {
			if f.damage == nil || errors.Is(err, urlresolve.ErrRefused) {
				f.damage = err
			}
			return v, nil
		}
		if err != nil || v.Annotation == nil || out.Annotation != nil {
			return out, err
		}
		out = proto.CloneOf(out)
		out.Annotation = v.Annotation
		return out, nil
	}
	return eachMember(v, func(e *metapb.AnyValue) (*metapb.AnyValue, error) { return f.value(anchor, e, way) })
}

// isDamage reports whether an error lies in what is stored and not in reading it.
func isDamage(err error) bool {
	var damage *corrupt.Error
	return errors.As(err, &damage) || errors.Is(err, urlresolve.ErrRefused)
}

// reference is the value that ref leads to.
func (f *follower) reference(anchor string, ref *metapb.DataRef, way []place) (*metapb.AnyValue, error) {
	p, err := f.root.placeOf(anchor, ref)
	if err != nil {
		return nil, err
	}
	if f.visit != nil {
		f.visit(p.url, p.start, p.end)
	}
	f.references++
	f.bytes += p.end - p.start
	switch {
	case slices.Contains(way, p):
		return nil, corrupt.Locate(corrupt.At(p.start, "circular value of %d references", len(way)-slices.Index(way, p)), p.url, 0)
	case len(way) == maxHops:
		return nil, corrupt.Locate(corrupt.At(p.start, "a value is more than %d references away", maxHops), p.url, 0)
	case f.references > maxFollowed:
		return nil, corrupt.Locate(corrupt.At(p.start, "a value of more than %d references", maxFollowed), p.url, 0)
	case f.bytes > maxFollowedBytes:
		return nil, corrupt.Locate(corrupt.At(p.start, "a value of more than %d bytes", maxFollowedBytes), p.url, 0)
	}
	next := new(metapb.AnyValue)
	if _, err := f.root.Decode(f.ctx, anchor, ref, next); err != nil {
		return nil, err
	}
	return f.value(p.url, next, append(slices.Clone(way), p))
}

// eachMember is v with what f gives for every element of a list or field of a struct, v itself if that changes nothing.
func eachMember(v *metapb.AnyValue, f func(*metapb.AnyValue) (*metapb.AnyValue, error)) (*metapb.AnyValue, error) {
	elements, fields := v.GetListValue().GetElements(), v.GetStructValue().GetFields()
	members := slices.Clone(elements)
	for _, p := range fields {
		members = append(members, p.GetValue())
	}
	changed := false
	for i, was := range members {
		is, err := f(was)
		if err != nil {
			return nil, err
		}
		members[i], changed = is, changed || is != was
	}
	if !changed {
		return v, nil
	}
	out := ListOf(members...)
	if fields != nil {
		pairs := make([]*metapb.NameValuePair, len(fields))
		for i, p := range fields {
			pairs[i] = Pair(p.GetName(), members[i])
		}
		out = StructOf(pairs...)
	}
	out.Annotation = v.Annotation
	return out, nil
}
