package catalog

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/catalog/internal/vended"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// restSettings are the settings of a REST catalog that its URI may name, as ?NAME=VALUE, by the names that other Iceberg clients
// have for them where there are any. None is a secret. Besides them there is header.NAME.
var restSettings = []string{
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

// restURI cuts the settings off a URI.
func restURI(uri string) (base string, settings url.Values, err error) {
	base, query, _ := strings.Cut(uri, "?")
	if settings, err = url.ParseQuery(query); err != nil {
		return "", nil, fmt.Errorf("%w: catalog %s: its settings must have the form NAME=VALUE&NAME=VALUE", ErrInvalid, redactURI(base))
	}
	for name, values := range settings {
		switch {
		case !slices.Contains(restSettings, name) && !strings.HasPrefix(name, headerSetting):
			return "", nil, fmt.Errorf("%w: catalog %s: unknown setting %q; known are %s and %sNAME. Tokens and credentials are read from %s, %s and %s",
				ErrInvalid, redactURI(base), name, strings.Join(restSettings, ", "), headerSetting, tokenVariable, tokenFileVariable, credentialVariable)
		case len(values) > 1:
			return "", nil, fmt.Errorf("%w: catalog %s: setting %s twice", ErrInvalid, redactURI(base), name)
		}
	}
	return base, settings, nil
}

// openREST takes secrets from the environment (see docs/guides/catalogs.md), and with rest.sigv4-enabled=true what the AWS SDK finds.
func openREST(ctx context.Context, o Options, props iceberg.Properties) (icecatalog.Catalog, string, func() error, *vended.Keys, error) {
	identity := redactURI(o.URI)
	base, settings, err := restURI(o.URI)
	if err != nil {
		return nil, "", nil, nil, err
	}
	below, err := restTransport(base, settings, o)
	headers, headersErr := restHeaders(settings)
	if err = errors.Join(err, headersErr); err != nil {
		return nil, "", nil, nil, fmt.Errorf("catalog %s: %w", identity, err)
	}
	keys := vended.New(below, !isWarehouseName(o.Warehouse), o.Now)
	// Headers belong to the catalog alone: a token endpoint may be another's. They are signed where requests are.
	opts := []rest.Option{rest.WithAdditionalProps(props), rest.WithCustomTransport(&commitWatch{keys}), rest.WithHeaders(headers)}
	if warehouse := warehouseForServer(o.Warehouse, props["warehouse"]); warehouse != "" && !o.unnamed {
		opts = append(opts, rest.WithWarehouseLocation(warehouse))
	}
	if prefix := settings.Get("prefix"); prefix != "" {
		opts = append(opts, rest.WithPrefix(prefix))
	}
	if below.Signed {
		signer, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // iceberg-go's own would log to stderr
		if err != nil {
			return nil, "", nil, nil, fmt.Errorf("catalog %s: %w", identity, err)
		}
		opts = append(opts, rest.WithSigV4RegionSvc(signingPlace(below.Catalog, settings)), rest.WithAwsConfig(signer))
	}
	ice, err := rest.NewCatalog(ctx, CatalogName, below.Catalog.String(), opts...)
	if err != nil {
		below.CloseIdleConnections()
		if isOutage(err) || errors.Is(err, resthttp.ErrTimeout) || errors.Is(err, rest.ErrServiceUnavailable) || errors.Is(err, rest.ErrServerError) {
			err = errors.Join(ErrUnreachable, err)
		}
		return nil, "", nil, nil, fmt.Errorf("catalog %s: %w", identity, err)
	}
	closer := func() error {
		err := ice.Close()
		below.CloseIdleConnections()
		return err
	}
	return ice, identity, closer, keys, nil
}

// restTransport is the transport of a catalog, by the settings of its URI and the environment.
func restTransport(base string, settings url.Values, o Options) (*resthttp.Transport, error) {
	at, err := url.Parse(strings.TrimPrefix(base, "rest+"))
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("%w: must be rest+http(s)://HOST/PATH", ErrInvalid)
	}
	t := &resthttp.Transport{Catalog: at, Agent: userAgent(o.Agent), Timeout: o.RequestTimeout, Budget: o.RetryBudget, MaxMemory: o.metadataMemory()}
	if t.Signed, err = isSigned(at, settings.Get("rest.sigv4-enabled")); err != nil {
		return nil, err
	}
	if t.Tokens, err = restTokens(at, settings); err != nil {
		return nil, err
	}
	plain := http.DefaultTransport.(*http.Transport).Clone()
	if plain.TLSClientConfig, err = clientTLS(settings); err != nil {
		return nil, err
	}
	// A redirect to another host would take the token along. Requests for new storage credentials are no part of the read that needs them.
	t.Base = &httptransport.Transport{Base: plain, Tokens: true}
	t.Waiting, t.Recovered = outageLog(o.Log, redactURI(base))
	return t, nil
}

// outageLog reports the begin and the end of an outage of a catalog.
func outageLog(log *slog.Logger, identity string) (begin func(error, time.Time), end func(time.Duration)) {
	if log == nil {
		return nil, nil
	}
	begin = func(cause error, until time.Time) {
		log.Warn("the catalog is unreachable; retrying", "catalog", identity, "error", cause.Error(), "for", time.Until(until).Round(time.Second).String())
	}
	return begin, func(outage time.Duration) {
		log.Info("the catalog is reachable again", "catalog", identity, "outage", outage.Round(100*time.Millisecond).String())
	}
}

// userAgent names the program and its version.
func userAgent(agent string) string {
	if agent != "" {
		return agent
	}
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/shardcat/shardcat" && m.Version != "" {
				version = strings.Trim(m.Version, "()")
			}
		}
	}
	return "shardcat/" + version
}

// restTokens are the tokens of a catalog, nil where the environment has none.
func restTokens(at *url.URL, settings url.Values) (*resthttp.Tokens, error) {
	s := &resthttp.Tokens{
		Token: os.Getenv(tokenVariable), File: os.Getenv(tokenFileVariable), Credential: os.Getenv(credentialVariable),
		SubjectType: settings.Get("subject-token-type"), Scope: settings.Get("scope"),
		Audience: settings.Get("audience"), Resource: settings.Get("resource"), Server: at.JoinPath("v1/oauth/tokens"),
	}
	var err error
	if s.Exchange, err = boolSetting(settings, "token-exchange-enabled"); err != nil {
		return nil, err
	}
	if v := settings.Get("oauth2-server-uri"); v != "" {
		server, err := url.Parse(v)
		if err != nil || server.Host == "" || server.User != nil || server.Scheme != "https" && server.Scheme != "http" {
			return nil, fmt.Errorf("%w: oauth2-server-uri %q is not a http(s) URL", ErrInvalid, v)
		}
		s.Server = server
	}
	switch {
	case s.Token != "" && s.File != "":
		return nil, fmt.Errorf("%w: %s and %s exclude each other", ErrInvalid, tokenVariable, tokenFileVariable)
	case s.Exchange && s.Token == "" && s.File == "":
		return nil, fmt.Errorf("%w: token-exchange-enabled needs %s or %s", ErrInvalid, tokenVariable, tokenFileVariable)
	case s.Token == "" && s.File == "" && s.Credential == "":
		return nil, nil
	case !s.Exchange && s.Scope == "":
		s.Scope = "catalog"
	}
	return s, nil
}

func boolSetting(settings url.Values, name string) (bool, error) {
	switch v := settings.Get(name); strings.ToLower(v) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	default:
		return false, fmt.Errorf("%w: %s must be true or false, not %q", ErrInvalid, name, v)
	}
}

// restHeaders are the headers of header.NAME and of the environment, one "Name: value" per line.
func restHeaders(settings url.Values) (map[string]string, error) {
	h := map[string]string{}
	add := func(from, name, value string) error {
		switch {
		case !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00"):
			return fmt.Errorf("%w: %s: invalid header %q", ErrInvalid, from, name)
		case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("%w: %s: header %s can't be set", ErrInvalid, from, name)
		}
		h[http.CanonicalHeaderKey(name)] = value
		return nil
	}
	for setting := range settings {
		name, ok := strings.CutPrefix(setting, headerSetting)
		if !ok {
			continue
		}
		if strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Proxy-Authorization") {
			return nil, fmt.Errorf("%w: header %s is a secret; give it in %s", ErrInvalid, name, headersVariable)
		}
		if err := add("setting "+setting, name, settings.Get(setting)); err != nil {
			return nil, err
		}
	}
	for _, line := range strings.Split(os.Getenv(headersVariable), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%w: %s: expected lines of the form NAME: VALUE", ErrInvalid, headersVariable)
		}
		if err := add(headersVariable, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	return h, nil
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// clientTLS is what a catalog's certificate is checked by, and the certificate shown to it. AWS_CA_BUNDLE holds for catalogs too.
func clientTLS(settings url.Values) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	name, bundle := "ca-file", settings.Get("ca-file")
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
			return nil, fmt.Errorf("%w: %s %s: no certificate in PEM", ErrInvalid, name, bundle)
		}
		config.RootCAs = roots
	}
	cert, key := settings.Get("cert-file"), settings.Get("key-file")
	switch {
	case cert == "" && key == "":
		return config, nil
	case cert == "":
		return nil, fmt.Errorf("%w: key-file needs cert-file", ErrInvalid)
	case key == "":
		key = cert // one file may hold both
	}
	// Read for each connection: such certificates are replaced while programs run.
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	if _, err := load(); err != nil {
		return nil, fmt.Errorf("%w: cert-file: %w", ErrInvalid, err)
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

// signingPlace is the region and the service of signatures: of the settings, else of AWS's endpoint.
func signingPlace(at *url.URL, settings url.Values) (region, service string) {
	region, service = settings.Get("rest.signing-region"), settings.Get("rest.signing-name")
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

// placeSchemes are those of URLs that report where a warehouse lies. Anything else that has a colon is a name that a REST catalog
// knows: an ARN, Glue's ID:CATALOG/BUCKET, BigLake's bl://….
var placeSchemes = []string{
	"file", "mem", "http", "https", "s3", "s3a", "s3n", "gs", "gcs", "az", "azblob", "abfs", "abfss", "wasb", "wasbs", "azure",
}

// isWarehouseName distinguishes a name that only a REST catalog knows from a URL and from a path, which begins with / . ~ or a drive.
func isWarehouseName(warehouse string) bool {
	scheme, rest, ok := strings.Cut(warehouse, ":")
	switch {
	case warehouse == "" || strings.ContainsAny(warehouse[:1], "/.~") || strings.Contains(warehouse, "\\"):
		return false
	case !ok:
		return true
	case len(scheme) == 1: // a drive
		return false
	}
	return !slices.Contains(placeSchemes, strings.ToLower(scheme)) || !strings.HasPrefix(rest, "/")
}

// warehouseForServer is the name of a warehouse that is sent to a server: a name as it is, a URL as it was typed but without its options, and
// of a path its canonical URL.
func warehouseForServer(typed, canonical string) string {
	if isWarehouseName(typed) {
		return typed
	}
	if !strings.Contains(typed, "://") {
		return canonical
	}
	plain, _, _ := strings.Cut(typed, "?")
	return plain
}

// errWarehouseName is the refusal of a name without a vault.
func errWarehouseName(name string) error {
	hint := ""
	if strings.ContainsAny(name, "/") && !strings.Contains(name, ":") {
		hint = "; write a local folder as ./" + name
	}
	return fmt.Errorf("%w: warehouse %q is a name of the REST catalog; set the folder or URL for shards with --vault%s", ErrInvalid, name, hint)
}
