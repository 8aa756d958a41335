// Package restsettings reads the settings of a REST catalog from its URI, and its secrets from the environment (see docs/guides/catalogs.md).
package restsettings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// Names are the settings that the URI of a catalog may have, as ?NAME=VALUE, by the names that other Iceberg clients
// have for them where there are any. None is a secret. Besides them there is header.NAME.
var Names = []string{
	"prefix", "oauth2-server-uri", "scope", "audience", "resource", "token-exchange-enabled", "subject-token-type",
	"rest.sigv4-enabled", "rest.signing-region", "rest.signing-name", "ca-file", "cert-file", "key-file",
}

const (
	// headerSetting begins the name of a setting that is a header.
	headerSetting = "header."
	// The variables that hold secrets of a REST catalog.
	tokenVariable      = "SHARDCAT_REST_TOKEN"
	tokenFileVariable  = "SHARDCAT_REST_TOKEN_FILE"
	credentialVariable = "SHARDCAT_REST_CREDENTIAL"
	headersVariable    = "SHARDCAT_REST_HEADERS"
)

// Settings of one URI.
type Settings struct{ values url.Values }

// Parse reads the query of a URI.
func Parse(query string) (Settings, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return Settings{}, errors.New("its settings must have the form NAME=VALUE&NAME=VALUE")
	}
	for name, of := range values {
		switch {
		case !slices.Contains(Names, name) && !strings.HasPrefix(name, headerSetting):
			return Settings{}, fmt.Errorf("unknown setting %q; known are %s and %sNAME. Tokens and credentials are read from %s, %s and %s",
				name, strings.Join(Names, ", "), headerSetting, tokenVariable, tokenFileVariable, credentialVariable)
		case len(of) > 1:
			return Settings{}, fmt.Errorf("setting %s twice", name)
		}
	}
	return Settings{values}, nil
}

// Prefix begins the paths of the catalog, "" for none.
func (s Settings) Prefix() string { return s.values.Get("prefix") }

// Transport makes the transport to the catalog at a URL, with the tokens of the environment. The caller adds agent, timeouts and limits.
func (s Settings) Transport(base string) (*resthttp.Transport, error) {
	at, err := url.Parse(base)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("%w: must be rest+http(s)://HOST/PATH", caterr.ErrInvalid)
	}
	t := &resthttp.Transport{Catalog: at}
	if t.Signed, err = isSigned(at, s.values.Get("rest.sigv4-enabled")); err != nil {
		return nil, err
	}
	if t.Tokens, err = s.tokens(at); err != nil {
		return nil, err
	}
	plain := http.DefaultTransport.(*http.Transport).Clone()
	if plain.TLSClientConfig, err = s.tls(); err != nil {
		return nil, err
	}
	// A redirect to another host would take the token along. Requests for new storage credentials are no part of the read that needs them.
	t.Base = &httptransport.Transport{Base: plain, Tokens: true}
	return t, nil
}

// tokens are the tokens of a catalog, nil where the environment has none.
func (s Settings) tokens(at *url.URL) (*resthttp.Tokens, error) {
	t := &resthttp.Tokens{
		Token: os.Getenv(tokenVariable), File: os.Getenv(tokenFileVariable), Credential: os.Getenv(credentialVariable),
		SubjectType: s.values.Get("subject-token-type"), Scope: s.values.Get("scope"),
		Audience: s.values.Get("audience"), Resource: s.values.Get("resource"), Server: at.JoinPath("v1/oauth/tokens"),
	}
	var err error
	if t.Exchange, err = boolSetting(s.values, "token-exchange-enabled"); err != nil {
		return nil, err
	}
	if v := s.values.Get("oauth2-server-uri"); v != "" {
		server, err := url.Parse(v)
		if err != nil || server.Host == "" || server.User != nil || server.Scheme != "https" && server.Scheme != "http" {
			return nil, fmt.Errorf("%w: oauth2-server-uri %q is not a http(s) URL", caterr.ErrInvalid, v)
		}
		t.Server = server
	}
	switch {
	case t.Token != "" && t.File != "":
		return nil, fmt.Errorf("%w: %s and %s exclude each other", caterr.ErrInvalid, tokenVariable, tokenFileVariable)
	case t.Exchange && t.Token == "" && t.File == "":
		return nil, fmt.Errorf("%w: token-exchange-enabled needs %s or %s", caterr.ErrInvalid, tokenVariable, tokenFileVariable)
	case t.Token == "" && t.File == "" && t.Credential == "":
		return nil, nil
	case !t.Exchange && t.Scope == "":
		t.Scope = "catalog"
	}
	return t, nil
}

func boolSetting(settings url.Values, name string) (bool, error) {
	switch v := settings.Get(name); strings.ToLower(v) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	default:
		return false, fmt.Errorf("%w: %s must be true or false, not %q", caterr.ErrInvalid, name, v)
	}
}

// Headers are those of header.NAME and of the environment, one "Name: value" per line.
func (s Settings) Headers() (map[string]string, error) {
	h := map[string]string{}
	add := func(from, name, value string) error {
		switch {
		case !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00"):
			return fmt.Errorf("%w: %s: invalid header %q", caterr.ErrInvalid, from, name)
		case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("%w: %s: header %s can't be set", caterr.ErrInvalid, from, name)
		}
		h[http.CanonicalHeaderKey(name)] = value
		return nil
	}
	for setting := range s.values {
		name, ok := strings.CutPrefix(setting, headerSetting)
		if !ok {
			continue
		}
		if strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Proxy-Authorization") {
			return nil, fmt.Errorf("%w: header %s is a secret; give it in %s", caterr.ErrInvalid, name, headersVariable)
		}
		if err := add("setting "+setting, name, s.values.Get(setting)); err != nil {
			return nil, err
		}
	}
	for _, line := range strings.Split(os.Getenv(headersVariable), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%w: %s: expected lines of the form NAME: VALUE", caterr.ErrInvalid, headersVariable)
		}
		if err := add(headersVariable, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	return h, nil
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// tls is what a catalog's certificate is checked by, and the certificate shown to it. AWS_CA_BUNDLE holds for catalogs too.
func (s Settings) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	name, bundle := "ca-file", s.values.Get("ca-file")
	if bundle == "" {
		name, bundle = "AWS_CA_BUNDLE", os.Getenv("AWS_CA_BUNDLE")
	}
	if bundle != "" {
		text, err := os.ReadFile(bundle)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: %s %s: no certificate in PEM", caterr.ErrInvalid, name, bundle)
		}
		config.RootCAs = roots
	}
	cert, key := s.values.Get("cert-file"), s.values.Get("key-file")
	switch {
	case cert == "" && key == "":
		return config, nil
	case cert == "":
		return nil, fmt.Errorf("%w: key-file needs cert-file", caterr.ErrInvalid)
	case key == "":
		key = cert // one file may hold both
	}
	// Read for each connection: such certificates are replaced while programs run.
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	if _, err := load(); err != nil {
		return nil, fmt.Errorf("%w: cert-file: %w", caterr.ErrInvalid, err)
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return config, nil
}

// awsHost finds service and region in the names of AWS's own Iceberg endpoints.
var awsHost = regexp.MustCompile(`^(glue|s3tables)(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$`)

// isSigned reports whether requests are signed: where the setting reports it, and at AWS's own endpoints unless it states no.
func isSigned(at *url.URL, setting string) (bool, error) {
	if setting == "" {
		return awsHost.MatchString(at.Hostname()), nil
	}
	return boolSetting(url.Values{"rest.sigv4-enabled": {setting}}, "rest.sigv4-enabled")
}

// SigningPlace is the region and the service of signatures: of the settings, else of AWS's endpoint.
func (s Settings) SigningPlace(at *url.URL) (region, service string) {
	region, service = s.values.Get("rest.signing-region"), s.values.Get("rest.signing-name")
	if found := awsHost.FindStringSubmatch(at.Hostname()); found != nil {
		if service == "" {
			service = found[1]
		}
		if region == "" {
			region = found[2]
		}
	}
	return region, service
}
