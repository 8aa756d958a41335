package s3blob

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// stubSTS answers with a status, and with the credentials ASIAROLE for any role where that is 200. Asked is
// the action that was asked for last.
func stubSTS(t *testing.T, status int) (endpoint string, asked *string) {
	asked = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.PostFormValue("Action")
		w.WriteHeader(status)
		if status != http.StatusOK {
			fmt.Fprint(w, "<ErrorResponse><Error><Code>Refused</Code></Error></ErrorResponse>")
			return
		}
		fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>
<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%[2]s</Expiration>
</Credentials></%[1]sResult></%[1]sResponse>`, *asked, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}
