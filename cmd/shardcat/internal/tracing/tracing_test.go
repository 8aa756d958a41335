package tracing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Without a collector nothing is traced; with one, spans arrive there under the service's name.
func TestFromEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	tracer, end, err := FromEnvironment(t.Context(), "v1")
	if tracer != nil || err != nil || end(t.Context()) != nil {
		t.Fatalf("%v, %v", tracer, err)
	}
	bodies := make(chan string, 9)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.URL.Path + string(body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	if tracer, end, err = FromEnvironment(t.Context(), "v1"); err != nil {
		t.Fatal(err)
	}
	_, span := tracer.Start(t.Context(), "read back")
	span.End()
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-bodies; !strings.HasPrefix(got, "/v1/traces") || !strings.Contains(got, "read back") || !strings.Contains(got, "shardcat") {
		t.Errorf("%q", got)
	}
}
