package httptransport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
)

// Trust are files that say whom a client trusts and as whom it presents itself, beyond the system's own. The zero value
// has none.
type Trust struct {
	// CA are certificates (PEM) that the server's may be signed by, besides the system's; empty for those of AWS_CA_BUNDLE.
	CA string
	// Cert and Key are the client's own certificate and its key (PEM).
	Cert, Key string
}

// Apply makes a transport go by it.
func (t Trust) Apply(to *http.Transport) error {
	ca := t.CA
	if ca == "" {
		ca = os.Getenv("AWS_CA_BUNDLE")
	}
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("a client certificate needs both client_cert_file and client_key_file")
	}
	if ca == "" && t.Cert == "" {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if to.TLSClientConfig != nil {
		config = to.TLSClientConfig.Clone()
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return fmt.Errorf("certificates: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("certificates: no PEM certificate in %s", ca)
		}
		config.RootCAs = pool
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return fmt.Errorf("client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	to.TLSClientConfig = config
	return nil
}

// module is the path of this program's own module.
const module = "github.com/shardcat/shardcat"

// Version is that of this module in the running program, "unknown" if the build did not record it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if v := strings.Trim(m.Version, "()"); m.Path == module && v != "" {
			return v
		}
	}
	return "unknown"
}
