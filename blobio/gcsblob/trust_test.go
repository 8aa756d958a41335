package gcsblob

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestTrust: a store with a certificate of one's own, and one that wants to see one.
func TestTrust(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"storage#object","name":"k","bucket":"b","size":"%d","updated":"2026-01-01T00:00:00Z"}`, 1+len(r.TLS.PeerCertificates))
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{ca: {Type: "CERTIFICATE", Bytes: server.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		params, bundle string
		size           int64
		class          error
	}{
		{"", "", 0, blobio.ErrDenied},
		{"&ca_file=" + ca, "", 1, nil},
		{"", ca, 1, nil},
		{"&ca_file=" + ca + "&client_cert_file=" + ca + "&client_key_file=" + key, "", 2, nil},
	} {
		t.Setenv("AWS_CA_BUNDLE", test.bundle)
		b := blobfake.OpenURL[*bucket](t, OpenURL, "gs://b?endpoint="+server.URL+test.params)
		info, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
		if blobio.Class(err) != test.class || info.Size != test.size {
			t.Errorf("%q %q: %+v, %v", test.params, test.bundle, info, err)
		}
	}
}
