package s3blob

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/shardcat/shardcat/blobio/internal/urlparam"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// Options are what the parameters of a bucket's URL say. The rest empty comes from the environment and
// the shared configuration files, as everywhere in the AWS SDK. The zero value is valid.
type Options struct {
	Region    string // ?region=
	Endpoint  string // ?endpoint=, scheme and host of an S3-compatible store
	Profile   string // ?profile=, of the shared configuration files
	Anonymous bool   // ?anonymous=true: requests are not signed

	Role            string // ?role=, ARN of a role to assume
	RoleSession     string // ?role_session_name=
	ExternalID      string // ?external_id=
	WebIdentityFile string // ?web_identity_token_file=, with Role

	PathStyle  *bool // ?use_path_style=; nil: yes with an endpoint of one's own, else no
	Accelerate bool  // ?accelerate=true
	DualStack  bool  // ?dualstack=true
	FIPS       bool  // ?fips=true
	PlainHTTP  bool  // ?disable_https=true: requests to AWS's own endpoints use http
	// FixedHost is ?hostname_immutable=true, with Endpoint: the bucket stands in the path, never in the host.
	FixedHost bool
	// RetryCapacity is ?rate_limiter_capacity=, of the SDK's retries. This driver's client makes none, so that
	// each attempt is seen above it; blobio.RetryPolicy bounds its own.
	RetryCapacity int

	Encryption    types.ServerSideEncryption // ?sse=AES256|aws:kms|aws:kms:dsse
	KMSKeyID      string                     // ?kms_key_id=
	StorageClass  types.StorageClass         // ?storage_class=
	RequesterPays bool                       // ?requester_pays=true

	ACL types.ObjectCannedACL // ?acl=, of new objects: bucket-owner-full-control, …
	// KMSContext is ?kms_context=, a JSON object of texts that goes with the KMS key.
	KMSContext string
	// CustomerKeyFile is ?sse_customer_key_file=: a key of 256 bits with which the store encrypts (SSE-C).
	CustomerKeyFile string
	// Headers are ?header.NAME=VALUE, set on each request. Secret ones come from headersVariable.
	Headers map[string]string
	// Trust is ?ca_file=, ?client_cert_file= and ?client_key_file=.
	Trust httptransport.Trust

	// Credentials sign the requests instead of the SDK's chain, nil for the chain.
	Credentials aws.CredentialsProvider

	// RequestChecksums is ?request_checksum_calculation=when_supported|when_required. Stores that reject
	// trailing checksums need when_required, which is the default with an endpoint of one's own.
	RequestChecksums  aws.RequestChecksumCalculation
	ResponseChecksums aws.ResponseChecksumValidation // ?response_checksum_validation=

	// Unconditional is ?conditional_writes=false, for stores without If-None-Match: a HEAD precedes each
	// write, and two writers of one key may both succeed.
	Unconditional bool
	// PartSize is ?part_size=, bytes of one part of an upload; at least 5 MiB on S3.
	PartSize int
	// ListPage is ?list_page=, keys of one page of a list, 1,000 if 0.
	ListPage int
	// ListVersion is ?list_version=1|2 of the request for lists; 0 is 2, and 1 where the store does not know it.
	ListVersion int
}

// params are those of an s3 URL. Names that other tools use for the same thing are accepted too.
var params = urlparam.Set[Options]{
	Kind: "s3",
	Secrets: []string{"access_key", "access_key_id", "aws_access_key_id", "secret", "secret_key",
		"secret_access_key", "aws_secret_access_key", "session_token", "aws_session_token", "token"},
	Named: map[string]func(*Options, string, string) error{"header.": func(o *Options, name, value string) error {
		if o.Headers == nil {
			o.Headers = map[string]string{}
		}
		o.Headers[name] = value
		return nil
	}},
	Params: map[string]urlparam.Param[Options]{
		"region":                  urlparam.Text(func(o *Options) *string { return &o.Region }),
		"endpoint":                urlparam.Text(func(o *Options) *string { return &o.Endpoint }),
		"profile":                 urlparam.Text(func(o *Options) *string { return &o.Profile }),
		"role":                    urlparam.Text(func(o *Options) *string { return &o.Role }),
		"role_arn":                urlparam.Text(func(o *Options) *string { return &o.Role }),
		"role_session_name":       urlparam.Text(func(o *Options) *string { return &o.RoleSession }),
		"external_id":             urlparam.Text(func(o *Options) *string { return &o.ExternalID }),
		"web_identity_token_file": urlparam.Text(func(o *Options) *string { return &o.WebIdentityFile }),
		"kms_key_id":              urlparam.Text(func(o *Options) *string { return &o.KMSKeyID }),
		"kmskeyid":                urlparam.Text(func(o *Options) *string { return &o.KMSKeyID }),
		"anonymous":               urlparam.Bool(func(o *Options) *bool { return &o.Anonymous }),
		"accelerate":              urlparam.Bool(func(o *Options) *bool { return &o.Accelerate }),
		"dualstack":               urlparam.Bool(func(o *Options) *bool { return &o.DualStack }),
		"fips":                    urlparam.Bool(func(o *Options) *bool { return &o.FIPS }),
		"disable_https":           urlparam.Bool(func(o *Options) *bool { return &o.PlainHTTP }),
		"hostname_immutable":      urlparam.Bool(func(o *Options) *bool { return &o.FixedHost }),
		"requester_pays":          urlparam.Bool(func(o *Options) *bool { return &o.RequesterPays }),
		"rate_limiter_capacity":   urlparam.Int(func(o *Options) *int { return &o.RetryCapacity }, 0, math.MaxInt),
		"part_size":               urlparam.Int(func(o *Options) *int { return &o.PartSize }, minPart, maxPart),
		"list_page":               urlparam.Int(func(o *Options) *int { return &o.ListPage }, 1, 1000),
		"acl":                     urlparam.OneOf(func(o *Options) *types.ObjectCannedACL { return &o.ACL }, types.ObjectCannedACL("").Values()),
		"kms_context":             func(o *Options, v string) error { o.KMSContext = v; return checkContext(v) },
		"sse_customer_key_file":   urlparam.Text(func(o *Options) *string { return &o.CustomerKeyFile }),
		"ca_file":                 urlparam.Text(func(o *Options) *string { return &o.Trust.CA }),
		"client_cert_file":        urlparam.Text(func(o *Options) *string { return &o.Trust.Cert }),
		"client_key_file":         urlparam.Text(func(o *Options) *string { return &o.Trust.Key }),
		"list_version":            urlparam.Int(func(o *Options) *int { return &o.ListVersion }, 1, 2),
		"storage_class":           urlparam.OneOf(func(o *Options) *types.StorageClass { return &o.StorageClass }, types.StorageClass("").Values()),
		"sse":                     setEncryption,
		"ssetype":                 setEncryption,
		"use_path_style":          setPathStyle,
		"path_style":              setPathStyle,
		"s3ForcePathStyle":        setPathStyle,
		"conditional_writes":      setConditional,
		"request_checksum_calculation": whenever(aws.RequestChecksumCalculationWhenSupported, aws.RequestChecksumCalculationWhenRequired,
			func(o *Options) *aws.RequestChecksumCalculation { return &o.RequestChecksums }),
		"response_checksum_validation": whenever(aws.ResponseChecksumValidationWhenSupported, aws.ResponseChecksumValidationWhenRequired,
			func(o *Options) *aws.ResponseChecksumValidation { return &o.ResponseChecksums }),
	},
}

func setPathStyle(o *Options, v string) error {
	yes, err := strconv.ParseBool(v)
	o.PathStyle = &yes
	return err
}

func setConditional(o *Options, v string) error {
	yes, err := strconv.ParseBool(v)
	o.Unconditional = !yes
	return err
}

func setEncryption(o *Options, v string) error {
	if strings.EqualFold(v, "kms") {
		v = string(types.ServerSideEncryptionAwsKms)
	}
	field := func(o *Options) *types.ServerSideEncryption { return &o.Encryption }
	return urlparam.OneOf(field, o.Encryption.Values())(o, v)
}

// whenever is a parameter that reports when the SDK deals with checksums.
func whenever[T any](supported, required T, field func(*Options) *T) urlparam.Param[Options] {
	return func(o *Options, v string) error {
		switch strings.ToLower(v) {
		case "when_supported":
			*field(o) = supported
		case "when_required":
			*field(o) = required
		default:
			return errors.New("is neither when_supported nor when_required")
		}
		return nil
	}
}

// ParseOptions reads the parameters of a bucket's URL. A parameter that is unknown, given twice or a secret
// is an error; the value of a secret is not repeated in it.
func ParseOptions(q url.Values) (Options, error) {
	o, err := params.Parse(q)
	if err != nil {
		return Options{}, err
	}
	return o, o.Validate()
}

// Validate finds what cannot hold together.
func (o Options) Validate() error {
	if err := urlparam.CheckEndpoint(o.Endpoint); err != nil {
		return err
	}
	switch {
	case o.WebIdentityFile != "" && o.Role == "":
		return errors.New("parameter web_identity_token_file needs parameter role")
	case o.FixedHost && (o.Endpoint == "" || o.PathStyle != nil && !*o.PathStyle):
		return errors.New("parameter hostname_immutable needs parameter endpoint, and path style")
	case o.CustomerKeyFile != "" && o.Encryption != "":
		return errors.New("parameters sse and sse_customer_key_file exclude each other")
	case o.KMSContext != "" && !strings.HasPrefix(string(o.Encryption), "aws:kms"):
		return errors.New("parameter kms_context needs parameter sse=aws:kms")
	case o.Anonymous && o.Role != "":
		return errors.New("parameters anonymous and role exclude each other")
	}
	return nil
}

// client builds the S3 client: the SDK's own chain first, the URL's parameters above it. The client makes no
// second attempt by itself: attempts are counted and paced above the driver.
func (o Options) client(ctx context.Context) (client *s3.Client, closeIdle func(), err error) {
	cfg, err := config.LoadDefaultConfig(ctx, o.load)
	if err != nil {
		return nil, nil, err
	}
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	own := http.DefaultTransport.(*http.Transport).Clone()
	built, ok := cfg.HTTPClient.(*awshttp.BuildableClient) // the SDK's own client would follow redirects
	if ok {
		own = built.GetTransport()
	}
	if err := o.Trust.Apply(httptransport.Pooled(own)); err != nil {
		return nil, nil, err
	}
	more, err := o.headers()
	if err != nil {
		return nil, nil, err
	}
	cfg.HTTPClient = httptransport.TokenClient(own)
	if o.Credentials != nil {
		cfg.Credentials = aws.NewCredentialsCache(o.Credentials)
	}
	o.assumeRole(&cfg)
	cfg.HTTPClient = httptransport.Client(answers{own})
	cfg.APIOptions = append(cfg.APIOptions, more.add, unsignedEncoding, awsmiddleware.AddUserAgentKeyValue("shardcat", httptransport.Version()))
	if !o.Anonymous && o.Credentials == nil {
		cfg.Credentials = checkedCredentials{cfg.Credentials}
	}
	return s3.NewFromConfig(cfg, o.apply), own.CloseIdleConnections, nil
}

// load sets what the SDK's chain needs before it looks for credentials. Its logger would write to stderr.
func (o Options) load(l *config.LoadOptions) error {
	l.Logger, l.SharedConfigProfile = logging.Nop{}, o.Profile
	if o.Region != "" {
		l.Region = o.Region
	}
	if o.Anonymous {
		l.Credentials = aws.AnonymousCredentials{}
	}
	if o.DualStack {
		l.UseDualStackEndpoint = aws.DualStackEndpointStateEnabled
	}
	if o.FIPS {
		l.UseFIPSEndpoint = aws.FIPSEndpointStateEnabled
	}
	return nil
}

// assumeRole wraps the chain's credentials into those of the role, if there is one.
func (o Options) assumeRole(cfg *aws.Config) {
	if o.Role == "" {
		return
	}
	client := sts.NewFromConfig(*cfg, func(so *sts.Options) { so.Retryer = retry.NewStandard() })
	if o.WebIdentityFile != "" {
		token := stscreds.IdentityTokenFile(o.WebIdentityFile)
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(client, o.Role, token,
			func(p *stscreds.WebIdentityRoleOptions) { p.RoleSessionName = o.RoleSession }))
		return
	}
	cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(client, o.Role,
		func(p *stscreds.AssumeRoleOptions) {
			if o.RoleSession != "" {
				p.RoleSessionName = o.RoleSession
			}
			if o.ExternalID != "" {
				p.ExternalID = aws.String(o.ExternalID)
			}
		}))
}

// apply sets what only S3 clients have. An endpoint may also have come from AWS_ENDPOINT_URL_S3.
func (o Options) apply(so *s3.Options) {
	if o.Endpoint != "" {
		so.BaseEndpoint = aws.String(o.Endpoint)
	}
	own := so.BaseEndpoint != nil
	if own && so.Region == "" {
		so.Region = "us-east-1" // signed but not looked at by stores that have one region
	}
	so.EndpointOptions.DisableHTTPS = o.PlainHTTP
	so.UsePathStyle = own
	if o.PathStyle != nil {
		so.UsePathStyle = *o.PathStyle
	}
	so.UseAccelerate = o.Accelerate
	so.DisableLogOutputChecksumValidationSkipped = true
	switch {
	case o.RequestChecksums != 0:
		so.RequestChecksumCalculation = o.RequestChecksums
	case own:
		so.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}
	switch {
	case o.ResponseChecksums != 0:
		so.ResponseChecksumValidation = o.ResponseChecksums
	case so.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired:
		so.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired // without X-Amz-Checksum-Mode
	}
	if own && so.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired {
		// Every store that speaks S3 has known MD5 from the start. S3 itself gets the SDK's CRC.
		so.APIOptions = append(so.APIOptions, smithyhttp.AddContentChecksumMiddleware)
	}
	so.APIOptions = append(so.APIOptions, bucketPath)
}
