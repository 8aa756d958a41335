package compaction

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// span begins a span, if there is a tracer; end ends it.
func (o *Options) span(ctx context.Context, name string, attributes ...attribute.KeyValue) (_ context.Context, end func(error)) {
	if o.Tracer == nil {
		return ctx, func(error) {}
	}
	ctx, s := o.Tracer.Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil {
			s.RecordError(err)
			s.SetStatus(codes.Error, err.Error())
		}
		s.End()
	}
}

// attributes are those of a group's span.
func (g *Group) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("shardcat.mode", string(g.Mode)), attribute.Int("shardcat.inputs", g.Inputs.Len()),
		attribute.Int64("shardcat.records", g.Records), attribute.Int64("shardcat.bytes_moved", g.BytesMoved),
	}
}

func (j *Job) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("shardcat.job_id", j.result.JobID), attribute.String("shardcat.table", j.table.Name().String()),
		attribute.String("shardcat.mode", string(j.group.Mode)),
	}
}
