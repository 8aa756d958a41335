package azblob

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	gocloud "gocloud.dev/blob/azureblob"

	"github.com/shardcat/shardcat/internal/storehttp"
)

// Options are what the parameters of a container's URL say. What is left empty comes from the environment:
//
//	AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY       the account's shared key
//	AZURE_STORAGE_SAS_TOKEN                        a shared access signature
//	AZURE_STORAGE_CONNECTION_STRING                either of them, and the endpoint
//	AZURE_CLIENT_ID, AZURE_TENANT_ID, …            the SDK's chain: service principal, workload identity,
//	                                               managed identity, az login
//
// Key, signature and connection string are used for the account that the environment names only, so that
// another account is not asked with them. The zero value is valid.
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
	// PartSize is ?part_size=, bytes of one block of an upload.
	PartSize int
	// ListPage is ?list_page=, keys of one page of a list, 5,000 if 0.
	ListPage int
}

// secretParams must never stand in a URL, which is stored, logged and shown to others. The short ones are
// the parts of a shared access signature.
var secretParams = []string{"key", "account_key", "sas", "sas_token", "connection_string", "sig", "sv", "se",
	"sp", "sr", "spr", "srt", "ss", "st", "skoid", "client_secret", "password", "token"}

// ParseOptions reads the parameters of a container's URL. A parameter that is unknown, given twice or a
// secret is an error; the value of a secret is not repeated in it.
func ParseOptions(q url.Values) (Options, error) {
	var o Options
	for name, values := range q {
		if slices.Contains(secretParams, strings.ToLower(name)) {
			return Options{}, fmt.Errorf("parameter %q: keys and signatures belong into the environment, not into a URL", name)
		}
		if len(values) != 1 {
			return Options{}, fmt.Errorf("parameter %q is given %d times", name, len(values))
		}
		var err error
		switch v := values[0]; name {
		case "storage_account": // read by ParseURL
		case "endpoint":
			o.Endpoint = v
		case "protocol":
			o.Service.Protocol = v
		case "domain":
			o.Service.StorageDomain = v
		case "cdn":
			o.Service.IsCDN, err = strconv.ParseBool(v)
		case "localemu":
			o.Service.IsLocalEmulator, err = strconv.ParseBool(v)
		case "credential":
			o.Identity = v
		case "anonymous":
			err = o.setAnonymous(v)
		case "client_id":
			o.ClientID = v
		case "access_tier", "storage_class":
			err = o.setTier(v)
		case "encryption_scope":
			o.EncryptionScope = v
		case "part_size":
			err = setNumber(&o.PartSize, v, 1<<30)
		case "list_page":
			err = setNumber(&o.ListPage, v, 5000)
		default:
			return Options{}, fmt.Errorf("parameter %q is not known to Azure URLs", name)
		}
		if err != nil {
			return Options{}, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	o.Service.IsLocalEmulator = o.Service.IsLocalEmulator || isLocal(o.Service.StorageDomain)
	return o, o.Validate()
}

func (o *Options) setAnonymous(v string) error {
	yes, err := strconv.ParseBool(v)
	if yes {
		o.Identity = "anonymous"
	}
	return err
}

func (o *Options) setTier(v string) error {
	for _, tier := range blob.PossibleAccessTierValues() {
		if strings.EqualFold(v, string(tier)) {
			o.Tier = tier
			return nil
		}
	}
	return fmt.Errorf("is no access tier of Azure")
}

func setNumber(field *int, v string, most int) (err error) {
	*field, err = strconv.Atoi(v)
	if err == nil && (*field < 1 || *field > most) {
		err = fmt.Errorf("outside 1 to %d", most)
	}
	return err
}

// identities are the values of ?credential=.
var identities = []string{"", "default", "managed_identity", "cli", "workload_identity", "environment", "key",
	"sas", "anonymous"}

// Validate finds what cannot hold.
func (o Options) Validate() error {
	if !slices.Contains(identities, o.Identity) {
		return fmt.Errorf("parameter credential is none of %s", strings.Join(identities[1:], ", "))
	}
	switch s := o.Service; {
	case s.Protocol != "" && s.Protocol != "http" && s.Protocol != "https":
		return fmt.Errorf("parameter protocol is neither http nor https")
	case strings.ContainsAny(s.StorageDomain, "/?#@"):
		return fmt.Errorf("parameter domain is no name of a host")
	case (s.IsCDN || s.IsLocalEmulator) && s.StorageDomain == "":
		return fmt.Errorf("parameters cdn and localemu need parameter domain")
	}
	if o.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("parameter endpoint must be http://HOST or https://HOST")
	case u.User != nil || u.RawQuery != "":
		return fmt.Errorf("parameter endpoint must not hold credentials or a query")
	}
	return nil
}

// isLocal says whether a host is an address or localhost, where an account can be no subdomain.
func isLocal(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return host == "localhost" || net.ParseIP(host) != nil
}

// settings are what the environment says of an account.
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

// containerURL is where the container is asked for, without credentials.
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
		return "", fmt.Errorf("endpoint is no URL")
	}
	if isLocal(u.Host) && strings.Trim(u.Path, "/") == "" {
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
			return "", fmt.Errorf("domain %q is none of Azure's; name the endpoint with ?endpoint=https://…", p.Domain)
		}
		service.StorageDomain = "blob." + p.Domain
	}
	made, err := gocloud.NewServiceURL(&service)
	return string(made), err
}

// client builds the container's client with the credential that was asked for, or the first there is.
func (o Options) client(p Place) (*container.Client, error) {
	env := environment()
	if env.account != p.Account {
		env = settings{}
	}
	target, err := o.containerURL(p, env)
	if err != nil {
		return nil, err
	}
	opts := &container.ClientOptions{ClientOptions: clientOptions(storehttp.Client)}
	switch {
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
	token, err := o.token()
	if err != nil {
		return nil, err
	}
	return container.NewClient(target, checkedToken{token}, opts)
}

// token is the SDK's credential of the kind asked for.
func (o Options) token() (azcore.TokenCredential, error) {
	common := clientOptions(storehttp.TokenClient)
	common.Retry = policy.RetryOptions{} // tokens are fetched rarely, by the SDK's own rules
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

// clientOptions make one attempt per request: attempts are counted and paced above the driver.
func clientOptions(client func(http.RoundTripper) *http.Client) azcore.ClientOptions {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 256, 128
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	return azcore.ClientOptions{
		Retry:     policy.RetryOptions{MaxRetries: -1},
		Transport: client(transport),
		Telemetry: policy.TelemetryOptions{ApplicationID: "shardcat"},

		PerCallPolicies: []policy.Policy{bodyChecksum{}},
	}
}
