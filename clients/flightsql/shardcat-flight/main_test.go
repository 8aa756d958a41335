package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/clients/flightsql"
)

// The server runs on a catalog that is there, until it is stopped, and makes none.
func TestRunEndsWhenTold(t *testing.T) {
	dir := t.TempDir()
	s := &settings{listen: "127.0.0.1:0", rows: flightsql.Options{}, catalog: catalog.Options{
		URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"), Access: catalog.ReadOnly,
	}}
	if err := run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("without a catalog: %v", err)
	}
	made, err := shardcat.Open(t.Context(), dir, shardcat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var at net.Addr
	s.listening = func(a net.Addr) { at = a; stop() }
	if err := run(ctx, s); at == nil || err != nil {
		t.Errorf("at %v: %v", at, err)
	}
}

// TLS that can't be as it is requested is refused, never left out.
func TestTransportIsWhatIsAskedFor(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []settings{{cert: "a"}, {key: "a"}, {clientCAs: "a"}, {cert: empty, key: empty}, {cert: "nobody", key: "nobody"}} {
		if options, err := s.transport(); err == nil {
			t.Errorf("%+v: %d options", s, len(options))
		}
	}
	if options, err := new(settings).transport(); err != nil || len(options) != 0 {
		t.Errorf("without TLS: %v", err)
	}
}
