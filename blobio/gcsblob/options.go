package gcsblob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	gocloud "gocloud.dev/blob/gcsblob"
	"google.golang.org/api/impersonate"
	"google.golang.org/api/option"
	htransport "google.golang.org/api/transport/http"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/urlparam"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// Options are what the parameters of a bucket's URL say. The rest empty comes from the environment, as
// everywhere in Google's libraries: application default credentials (GOOGLE_APPLICATION_CREDENTIALS, gcloud,
// workload identity, the instance's account), STORAGE_EMULATOR_HOST. The zero value is valid.
type Options struct {
	// Endpoint is ?endpoint=, scheme and host of the store; one on an address or localhost is an emulator
	// and gets requests without credentials.
	Endpoint string
	// Anonymous is ?anonymous=true: requests carry no credentials.
	Anonymous bool
	// Impersonate is ?impersonate=, the service account to act as.
	Impersonate string
	// UserProject is ?user_project=, billed where the requester pays.
	UserProject string
	// StorageClass is ?storage_class=: STANDARD, NEARLINE, COLDLINE, ARCHIVE.
	StorageClass string
	// KMSKey is ?kms_key_name=, the resource name of a key.
	KMSKey string
	// UniverseDomain is ?universe_domain=, of a cloud that Google runs for others.
	UniverseDomain string
	// AccessID and KeyPath are ?access_id= and ?private_key_path=, for URLs that the gocloud bucket signs (bucket.As
	// hands it out). "-" as AccessID is Anonymous.
	AccessID, KeyPath string
	// Credentials are handed out by an Iceberg catalog and authorize the requests, nil for those of the environment.
	Credentials blobio.Credentials
	// PartSize is ?part_size=, bytes of one chunk of an upload; a multiple of 256 KiB.
	PartSize int
	// ListPage is ?list_page=, keys of one page of a list, 1,000 if 0.
	ListPage int
	// Trust is ?ca_file=, ?client_cert_file= and ?client_key_file=.
	Trust httptransport.Trust
}

// chunkStep is what GCS wants the chunks of an upload to be a multiple of.
const chunkStep = 256 << 10

// params are those of a gs URL.
var params = urlparam.Set[Options]{
	Kind: "gs",
	Secrets: []string{"access_token", "token", "key", "api_key", "credentials", "credentials_json",
		"private_key", "secret", "x-goog-signature", "signature"},
	Params: map[string]urlparam.Param[Options]{
		"endpoint":         urlparam.Text(func(o *Options) *string { return &o.Endpoint }),
		"impersonate":      urlparam.Text(func(o *Options) *string { return &o.Impersonate }),
		"user_project":     urlparam.Text(func(o *Options) *string { return &o.UserProject }),
		"userProject":      urlparam.Text(func(o *Options) *string { return &o.UserProject }),
		"storage_class":    urlparam.Text(func(o *Options) *string { return &o.StorageClass }),
		"kms_key_name":     urlparam.Text(func(o *Options) *string { return &o.KMSKey }),
		"universe_domain":  urlparam.Text(func(o *Options) *string { return &o.UniverseDomain }),
		"access_id":        urlparam.Text(func(o *Options) *string { return &o.AccessID }),
		"private_key_path": urlparam.Text(func(o *Options) *string { return &o.KeyPath }),
		"anonymous":        urlparam.Bool(func(o *Options) *bool { return &o.Anonymous }),
		"part_size":        urlparam.Int(func(o *Options) *int { return &o.PartSize }, chunkStep, 5<<30),
		"ca_file":          urlparam.Text(func(o *Options) *string { return &o.Trust.CA }),
		"client_cert_file": urlparam.Text(func(o *Options) *string { return &o.Trust.Cert }),
		"client_key_file":  urlparam.Text(func(o *Options) *string { return &o.Trust.Key }),
		"list_page":        urlparam.Int(func(o *Options) *int { return &o.ListPage }, 1, 1000),
	},
}

// ParseOptions reads the parameters of a bucket's URL. A parameter that is unknown, given twice or a secret
// is an error; the value of a secret is not repeated in it.
func ParseOptions(q url.Values) (Options, error) {
	o, err := params.Parse(q)
	if err != nil {
		return Options{}, err
	}
	if o.AccessID == "-" {
		o.AccessID, o.Anonymous = "", true
	}
	return o, o.Validate()
}

// Validate finds what cannot hold together.
func (o Options) Validate() error {
	if err := urlparam.CheckEndpoint(o.Endpoint); err != nil {
		return err
	}
	switch {
	case o.Anonymous && o.Impersonate != "":
		return errors.New("parameters anonymous and impersonate exclude each other")
	case o.PartSize < 0 || o.PartSize%chunkStep != 0:
		return fmt.Errorf("parameter part_size must be a multiple of %d", chunkStep)
	}
	return nil
}

// endpoint is where requests go; empty for Google's own. An emulator needs no credentials.
func (o Options) endpoint() (base string, emulator bool) {
	base = o.Endpoint
	if base == "" {
		base, emulator = os.Getenv("STORAGE_EMULATOR_HOST"), true
	}
	if base == "" {
		return "", false
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil {
		return base, emulator
	}
	return u.Scheme + "://" + u.Host, emulator || urlparam.IsLocal(u.Host)
}

// client builds Google's client of the JSON API, which makes one attempt per request: attempts are counted and paced
// above the driver.
func (o Options) client(ctx context.Context) (*storage.Client, error) {
	opts := []option.ClientOption{option.WithUserAgent("shardcat/" + httptransport.Version())}
	if o.UniverseDomain != "" {
		opts = append(opts, option.WithUniverseDomain(o.UniverseDomain))
	}
	base, emulator := o.endpoint()
	switch {
	case o.Impersonate != "":
		source, err := impersonate.CredentialsTokenSource(ctx, impersonate.CredentialsConfig{
			TargetPrincipal: o.Impersonate, Scopes: []string{storage.ScopeReadWrite}})
		if err != nil {
			return nil, &credentialsError{err}
		}
		opts = append(opts, option.WithTokenSource(source))
	case o.Anonymous || emulator || o.Credentials != nil:
		opts = append(opts, option.WithoutAuthentication())
	default:
		opts = append(opts, option.WithScopes(storage.ScopeReadWrite))
	}
	authorized, err := o.authorized(ctx, opts)
	if err != nil {
		return nil, err
	}
	// The library's own would follow redirects, and send its token along.
	authorized.CheckRedirect = httptransport.Stay
	authorized.Transport = &payer{o.UserProject, &httptransport.Transport{Base: authorized.Transport}}
	if o.Credentials != nil {
		authorized.Transport = &handedOut{o.Credentials, authorized.Transport}
	}
	to := []option.ClientOption{option.WithHTTPClient(authorized), option.WithoutAuthentication(),
		storage.WithJSONReads(), storage.WithDisabledClientMetrics()}
	if base != "" {
		to = append(to, option.WithEndpoint(base+"/storage/v1/"))
	}
	if o.UniverseDomain != "" {
		to = append(to, option.WithUniverseDomain(o.UniverseDomain))
	}
	client, err := storage.NewClient(ctx, to...)
	if err == nil {
		client.SetRetry(storage.WithPolicy(storage.RetryNever))
	}
	return client, err
}

// authorized makes the HTTP client that adds tokens to requests. The library's own transport knows no certificates but the system's.
func (o Options) authorized(ctx context.Context, opts []option.ClientOption) (*http.Client, error) {
	if o.Trust == (httptransport.Trust{}) && os.Getenv("AWS_CA_BUNDLE") == "" {
		client, _, err := htransport.NewClient(ctx, opts...)
		if err != nil {
			return nil, &credentialsError{err}
		}
		return client, nil
	}
	own := httptransport.Pooled(http.DefaultTransport.(*http.Transport).Clone())
	if err := o.Trust.Apply(own); err != nil {
		return nil, err
	}
	with, err := htransport.NewTransport(ctx, own, opts...)
	if err != nil {
		return nil, &credentialsError{err}
	}
	return &http.Client{Transport: with}, nil
}

// open opens the bucket by gocloud, which reads the key for signing.
func (o Options) open(ctx context.Context, client *storage.Client, name string) (*blob.Bucket, error) {
	q := url.Values{}
	for param, value := range map[string]string{"access_id": o.AccessID, "private_key_path": o.KeyPath} {
		if value != "" {
			q.Set(param, value)
		}
	}
	opener := &gocloud.URLOpener{Options: gocloud.Options{Client: client}}
	return opener.OpenBucketURL(ctx, &url.URL{Scheme: gocloud.Scheme, Host: name, RawQuery: q.Encode()})
}

// payer names the project that is billed in each request: gocloud's lists have no hook for it.
type payer struct {
	project string
	base    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p *payer) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if p.project == "" || q.Has("upload_id") { // a session knows who pays
		return p.base.RoundTrip(req)
	}
	q.Set("userProject", p.project)
	req = req.Clone(req.Context())
	req.URL.RawQuery = q.Encode()
	return p.base.RoundTrip(req)
}
