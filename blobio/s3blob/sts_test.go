package s3blob

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// stubSTS hands out the credentials ASIAROLE for any role.
func stubSTS(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		action := r.PostFormValue("Action")
		fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>
<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%[2]s</Expiration>
</Credentials></%[1]sResult></%[1]sResponse>`, action, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
