package s3blob

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// made are the names of sessions that the SDK makes up.
var made = regexp.MustCompile(`^(aws-go-sdk-)?[0-9]+$`)

// issuer is AWS's token service and its portal of single sign-on. Each hands out the access key that names its way.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.URL.Path == "/federation/credentials" {
		i.asked = append(i.asked, fmt.Sprintf("sso %s %s %s", r.FormValue("account_id"), r.FormValue("role_name"), r.Header.Get("X-Amz-Sso_bearer_token")))
		fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"ASIASSO","secretAccessKey":"s","sessionToken":"t-sso","expiration":%d}}`, time.Now().Add(time.Hour).UnixMilli())
		return
	}
	action := r.PostFormValue("Action")
	asked := []string{action}
	for _, field := range []string{"RoleArn", "RoleSessionName", "ExternalId", "WebIdentityToken"} {
		if v := r.PostFormValue(field); v != "" && !made.MatchString(v) {
			asked = append(asked, field+"="+v)
		}
	}
	_, key, signed := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ = strings.Cut(key, "/")
	if signed {
		asked = append(asked, "by "+key)
	}
	i.asked = append(i.asked, strings.Join(asked, " "))
	fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>ASIA%[2]s</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
<SessionToken>t-sts</SessionToken><Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
		action, strings.ToUpper(strings.TrimPrefix(action, "AssumeRole")), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// wire is a transport that answers 200, and keeps the request.
type wire struct{ request *http.Request }

func (c *wire) Do(r *http.Request) (*http.Response, error) {
	c.request = r
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Length": {"0"}}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// TestWhoSigns: by which way the examples of the page get credentials, what they request from the services, whose key signs the request, and to
// which host it goes.
func TestWhoSigns(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/object-stores.md")
	if err != nil {
		t.Fatal(err)
	}
	const role = "RoleArn=arn:aws:iam::123456789012:role/tables"
	plain := "bucket.s3.eu-west-3.amazonaws.com"
	type want struct{ asked, key, token, host string }
	wants := map[string]want{
		"s3://bucket/tables?profile=production&role=arn:aws:iam::123456789012:role/tables&external_id=x": {
			"AssumeRole " + role + " ExternalId=x by AKIDPRODUCTION", "ASIA", "t-sts", plain},
		"s3://bucket/tables?role=arn:aws:iam::123456789012:role/tables&web_identity_token_file=/var/run/token": {
			"AssumeRoleWithWebIdentity " + role + " WebIdentityToken=web-token", "ASIAWITHWEBIDENTITY", "t-sts", plain},
		"s3://bucket/tables?profile=sso": {"sso 123456789012 Reader sso-token", "ASIASSO", "t-sso", plain},
		"s3://bucket/tables?profile=tables": {
			"AssumeRole " + role + " RoleSessionName=nightly by AKIDPRODUCTION", "ASIA", "t-sts", plain},
		"s3://bucket/tables?profile=pod": {
			"AssumeRoleWithWebIdentity " + role + " WebIdentityToken=web-token", "ASIAWITHWEBIDENTITY", "t-sts", plain},
		"s3://bucket/tables?region=us-gov-west-1&fips=true&dualstack=true": {"", "AKIDOWN", "", "bucket.s3-fips.dualstack.us-gov-west-1.amazonaws.com"},
		"s3://bucket/tables?region=us-east-2&fips=true":                    {"", "AKIDOWN", "", "bucket.s3-fips.us-east-2.amazonaws.com"},
		"s3://bucket/tables?region=us-east-2&dualstack=true":               {"", "AKIDOWN", "", "bucket.s3.dualstack.us-east-2.amazonaws.com"},
	}
	lines := regexp.MustCompile(`(?m)^s3://\S+[?&](?:profile|role|fips|dualstack)=\S*$`).FindAllString(string(page), -1)
	if documented := slices.Sorted(maps.Keys(wants)); !slices.Equal(slices.Sorted(slices.Values(lines)), documented) {
		t.Errorf("the page has the examples %q, the test %q", lines, documented)
	}
	const pod = "s3://bucket/tables?region=eu-west-3" // as EKS sets the environment up
	wants[pod] = want{"AssumeRoleWithWebIdentity " + role + " RoleSessionName=pod WebIdentityToken=web-token", "ASIAWITHWEBIDENTITY", "t-sts", plain}
	dir := t.TempDir()
	write := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	token := write("token", "web-token")
	start := "https://start.example"
	sum := sha1.Sum([]byte(start)) // the name of the file that `aws sso login` leaves
	cached, err := json.Marshal(map[string]string{"accessToken": "sso-token", "expiresAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	if err != nil {
		t.Fatal(err)
	}
	write(".aws/sso/cache/"+hex.EncodeToString(sum[:])+".json", string(cached))
	config := write("config", `[profile production]
aws_access_key_id = AKIDPRODUCTION
aws_secret_access_key = p
[profile sso]
sso_start_url = `+start+`
sso_region = eu-west-3
sso_account_id = 123456789012
sso_role_name = Reader
[profile tables]
role_arn = arn:aws:iam::123456789012:role/tables
role_session_name = nightly
source_profile = production
[profile pod]
role_arn = arn:aws:iam::123456789012:role/tables
web_identity_token_file = `+token+"\n")
	for line, want := range wants {
		t.Run(strings.TrimPrefix(line, "s3://bucket/tables?"), func(t *testing.T) {
			services := &issuer{}
			services.Server = httptest.NewServer(services)
			t.Cleanup(services.Close)
			for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "AKIDOWN", "AWS_SECRET_ACCESS_KEY": "own", "AWS_SESSION_TOKEN": "",
				"AWS_PROFILE": "", "AWS_REGION": "eu-west-3", "AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": dir + "/none", "HOME": dir,
				"USERPROFILE": dir, "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_ENDPOINT_URL_STS": services.URL, "AWS_ENDPOINT_URL_SSO": services.URL} {
				t.Setenv(name, value)
			}
			if line == pod {
				t.Setenv("AWS_ACCESS_KEY_ID", "")
				t.Setenv("AWS_SECRET_ACCESS_KEY", "")
				t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/tables")
				t.Setenv("AWS_ROLE_SESSION_NAME", "pod")
				t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
			}
			b := blobfake.OpenURL[*bucket](t, OpenURL, strings.Replace(line, "/var/run/token", token, 1))
			seen := &wire{}
			b.client = s3.New(b.client.Options(), func(o *s3.Options) { o.HTTPClient = seen })
			if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); err != nil && seen.request == nil {
				t.Fatal(err)
			}
			services.mu.Lock()
			defer services.mu.Unlock()
			got := want
			got.asked, got.host, got.token = strings.Join(services.asked, "; "), seen.request.URL.Host, seen.request.Header.Get("X-Amz-Security-Token")
			_, key, _ := strings.Cut(seen.request.Header.Get("Authorization"), "Credential=")
			if got.key, _, _ = strings.Cut(key, "/"); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			if seen.request.URL.Scheme != "https" {
				t.Errorf("by %s", seen.request.URL.Scheme)
			}
		})
	}
}
