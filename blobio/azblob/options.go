package azblob

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	gocloud "gocloud.dev/blob/azureblob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/urlparam"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// Options are what the parameters of a container's URL say. The rest empty comes from the environment:
//
//	AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY       the account's shared key
//	AZURE_STORAGE_SAS_TOKEN                        a shared access signature
//	AZURE_STORAGE_CONNECTION_STRING                either of them, and the endpoint
//	AZURE_CLIENT_ID, AZURE_TENANT_ID, …            the SDK's chain: service principal, workload identity,
//	                                               managed identity, az login
//	AZURE_AUTHORITY_HOST                           who hands out tokens; else the cloud that the account is of
//
// Key, signature and connection string are used for the account that the environment names only, so that
// another account gets no request with them. The zero value is valid.
type Options struct {
	// Endpoint is ?endpoint=, the URL of the account's blob service; on an address or localhost the account
	// is the first element of its path, as emulators have it.
	Endpoint string
	// Service is ?domain=, ?protocol=, ?cdn= and ?localemu=, which make the URL of the blob service as gocloud has it:
	// PROTOCOL://ACCOUNT.DOMAIN, without the account for a CDN, and with it in the path for an emulator.
	Service gocloud.ServiceURLOptions
	// Identity is ?credential=default|managed_identity|cli|workload_identity|environment|key|sas|anonymous.
	Identity string
	// ClientID is ?client_id=, of a user-assigned managed identity.
	ClientID string
	// Tier is ?access_tier= (or storage_class=): Hot, Cool, Cold.
	Tier blob.AccessTier
	// EncryptionScope is ?encryption_scope=.
	EncryptionScope string
	// Credentials are signatures that an Iceberg catalog hands out, nil for what Identity and the environment have.
	Credentials blobio.Credentials
	// PartSize is ?part_size=, bytes of one block of an upload.
	PartSize int
	// ListPage is ?list_page=, keys of one page of a list, 5,000 if 0.
	ListPage int
	// Trust is ?ca_file=, ?client_cert_file= and ?client_key_file=.
	Trust httptransport.Trust
}

// params are those of a container's URL. The short names of secrets are the parts of a shared access signature.
var params = urlparam.Set[Options]{
	Kind: "Azure",
	Secrets: []string{"key", "account_key", "sas", "sas_token", "connection_string", "sig", "sv", "se",
		"sp", "sr", "spr", "srt", "ss", "st", "skoid", "client_secret", "password", "token"},
	Params: map[string]urlparam.Param[Options]{
		"ca_file":          urlparam.Text(func(o *Options) *string { return &o.Trust.CA }),
		"client_cert_file": urlparam.Text(func(o *Options) *string { return &o.Trust.Cert }),
		"client_key_file":  urlparam.Text(func(o *Options) *string { return &o.Trust.Key }),
		"storage_account":  func(*Options, string) error { return nil }, // read by parseURL
		"endpoint":         urlparam.Text(func(o *Options) *string { return &o.Endpoint }),
		"protocol":         urlparam.Text(func(o *Options) *string { return &o.Service.Protocol }),
		"domain":           urlparam.Text(func(o *Options) *string { return &o.Service.StorageDomain }),
		"cdn":              urlparam.Bool(func(o *Options) *bool { return &o.Service.IsCDN }),
		"localemu":         urlparam.Bool(func(o *Options) *bool { return &o.Service.IsLocalEmulator }),
		"credential":       urlparam.OneOf(func(o *Options) *string { return &o.Identity }, identities),
		"anonymous":        setAnonymous,
		"client_id":        urlparam.Text(func(o *Options) *string { return &o.ClientID }),
		"access_tier":      urlparam.OneOf(func(o *Options) *blob.AccessTier { return &o.Tier }, blob.PossibleAccessTierValues()),
		"storage_class":    urlparam.OneOf(func(o *Options) *blob.AccessTier { return &o.Tier }, blob.PossibleAccessTierValues()),
		"encryption_scope": urlparam.Text(func(o *Options) *string { return &o.EncryptionScope }),
		"part_size":        urlparam.Int(func(o *Options) *int { return &o.PartSize }, 1, 1<<30),
		"list_page":        urlparam.Int(func(o *Options) *int { return &o.ListPage }, 1, 5000),
	},
}

// identities are the values of ?credential=.
var identities = []string{"default", "managed_identity", "cli", "workload_identity", "environment", "key", "sas", "anonymous"}

func setAnonymous(o *Options, v string) error {
	yes, err := strconv.ParseBool(v)
	if yes {
		o.Identity = "anonymous"
	}
	return err
}

// ParseOptions reads the parameters of a container's URL. A parameter that is unknown, given twice or a
// secret is an error; the value of a secret is not repeated in it.
func ParseOptions(q url.Values) (Options, error) {
	o, err := params.Parse(q)
	if err != nil {
		return Options{}, err
	}
	o.Service.IsLocalEmulator = o.Service.IsLocalEmulator || urlparam.IsLocal(o.Service.StorageDomain)
	return o, o.Validate()
}

// Validate finds what cannot hold.
func (o Options) Validate() error {
	switch s := o.Service; {
	case o.Identity != "" && !slices.Contains(identities, o.Identity):
		return fmt.Errorf("parameter credential is not one of %v", identities)
	case s.Protocol != "" && s.Protocol != "http" && s.Protocol != "https":
		return errors.New("parameter protocol is neither http nor https")
	case strings.ContainsAny(s.StorageDomain, "/?#@"):
		return errors.New("parameter domain is not a host name")
	case (s.IsCDN || s.IsLocalEmulator) && s.StorageDomain == "":
		return errors.New("parameters cdn and localemu need parameter domain")
	}
	return urlparam.CheckEndpoint(o.Endpoint)
}

// settings are what the environment states about an account.
type settings struct{ account, key, sas, endpoint string }

// environment reads the account's settings, the single variables above the connection string.
func environment() settings {
	var s settings
	for part := range strings.SplitSeq(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "AccountName":
			s.account = value
		case "AccountKey":
			s.key = value
		case "SharedAccessSignature":
			s.sas = value
		case "BlobEndpoint":
			s.endpoint = value
		}
	}
	for variable, field := range map[string]*string{"AZURE_STORAGE_ACCOUNT": &s.account,
		"AZURE_STORAGE_KEY": &s.key, "AZURE_STORAGE_SAS_TOKEN": &s.sas} {
		if v := os.Getenv(variable); v != "" {
			*field = v
		}
	}
	s.sas = strings.TrimPrefix(s.sas, "?")
	return s
}

// containerURL is where the container is requested, without credentials.
func (o Options) containerURL(p Place, env settings) (string, error) {
	base := o.Endpoint
	if base == "" && env.account == p.Account {
		base = env.endpoint
	}
	if base == "" {
		service, err := o.serviceURL(p)
		if err != nil {
			return "", err
		}
		base = service
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("endpoint is not a URL")
	}
	if urlparam.IsLocal(u.Host) && strings.Trim(u.Path, "/") == "" {
		u = u.JoinPath(p.Account)
	}
	return u.JoinPath(p.Container).String(), nil
}

// serviceURL is the URL of the account's blob service: below a domain of Microsoft's, or where a CDN or an emulator was
// named.
func (o Options) serviceURL(p Place) (string, error) {
	service := o.Service
	service.AccountName = p.Account
	if !service.IsCDN && !service.IsLocalEmulator {
		if !p.known() {
			return "", fmt.Errorf("domain %q is not one of Azure's; name the endpoint with ?endpoint=https://…", p.Domain)
		}
		service.StorageDomain = "blob." + p.Domain
	}
	made, err := gocloud.NewServiceURL(&service)
	return string(made), err
}

// client builds the container's client with the credential that was requested, or the first there is.
// Its requests, those for tokens too, go through own.
func (o Options) client(p Place, own *http.Transport) (*container.Client, error) {
	env := environment()
	if env.account != p.Account {
		env = settings{}
	}
	target, err := o.containerURL(p, env)
	if err != nil {
		return nil, err
	}
	opts := &container.ClientOptions{ClientOptions: clientOptions(httptransport.Client(own))}
	switch {
	case o.Credentials != nil:
		opts.PerRetryPolicies = append(opts.PerRetryPolicies, handedOut{o.Credentials, p})
		return container.NewClientWithNoCredential(target, opts)
	case o.Identity == "anonymous":
		return container.NewClientWithNoCredential(target, opts)
	case env.sas != "" && (o.Identity == "" || o.Identity == "sas"):
		return container.NewClientWithNoCredential(target+"?"+env.sas, opts)
	case env.key != "" && (o.Identity == "" || o.Identity == "key"):
		shared, err := container.NewSharedKeyCredential(p.Account, env.key)
		if err != nil {
			return nil, fmt.Errorf("AZURE_STORAGE_KEY is not base64")
		}
		return container.NewClientWithSharedKeyCredential(target, shared, opts)
	case o.Identity == "key" || o.Identity == "sas":
		return nil, fmt.Errorf("the environment has no %s for account %s", o.Identity, p.Account)
	}
	token, err := o.token(p.Domain, own)
	if err != nil {
		return nil, err
	}
	return container.NewClient(target, checkedToken{token}, opts)
}

// authorities hand out the tokens of sovereign clouds; the public cloud's hands out all others.
var authorities = map[string]cloud.Configuration{
	"core.chinacloudapi.cn":  cloud.AzureChina,
	"core.usgovcloudapi.net": cloud.AzureGovernment,
}

// token is the SDK's credential of the kind requested, for accounts below a domain.
func (o Options) token(domain string, own *http.Transport) (azcore.TokenCredential, error) {
	common := clientOptions(httptransport.TokenClient(own))
	common.Retry = policy.RetryOptions{} // tokens are fetched rarely, by the SDK's own rules
	if os.Getenv("AZURE_AUTHORITY_HOST") == "" {
		common.Cloud = authorities[domain]
	}
	switch o.Identity {
	case "managed_identity":
		opts := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: common}
		if o.ClientID != "" {
			opts.ID = azidentity.ClientID(o.ClientID)
		}
		return azidentity.NewManagedIdentityCredential(opts)
	case "cli":
		return azidentity.NewAzureCLICredential(nil)
	case "workload_identity":
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: common, ClientID: o.ClientID})
	case "environment":
		return azidentity.NewEnvironmentCredential(&azidentity.EnvironmentCredentialOptions{ClientOptions: common})
	}
	return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: common})
}

// transport makes the connections of a bucket.
func (o Options) transport() (*http.Transport, error) {
	own := httptransport.Pooled(http.DefaultTransport.(*http.Transport).Clone())
	return own, o.Trust.Apply(own)
}

// clientOptions make one attempt per request: attempts are counted and paced above the driver.
func clientOptions(client *http.Client) azcore.ClientOptions {
	return azcore.ClientOptions{
		Retry:     policy.RetryOptions{MaxRetries: -1},
		Transport: client,
		Telemetry: policy.TelemetryOptions{ApplicationID: "shardcat/" + httptransport.Version()},

		PerCallPolicies: []policy.Policy{bodyChecksum{}},
	}
}
