// Package tracing sends spans to a collector, if the environment names one.
package tracing

import (
	"context"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// scope names the program in the spans, and the service where the environment does not.
const scope = "shardcat"

// FromEnvironment makes a tracer whose spans go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT names, as OTLP over HTTP. The tracer is
// nil, and nothing is traced, if neither is set. end sends what waits.
func FromEnvironment(ctx context.Context, version string) (tracer oteltrace.Tracer, end func(context.Context) error, err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, err
	}
	about := resource.NewSchemaless(attribute.String("service.name", scope), attribute.String("service.version", version))
	if about, err = resource.Merge(about, resource.Environment()); err != nil { // what the environment states goes first
		return nil, nil, err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	return provider.Tracer(scope), provider.Shutdown, nil
}
