package s3blob

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// stubSTS answers with a status, and with the credentials ASIAROLE for any role where that is 200. Asked is
// the last request, with its form.
func stubSTS(t *testing.T, status int) (endpoint string, asked *atomic.Pointer[http.Request]) {
	asked = new(atomic.Pointer[http.Request])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		action := r.PostFormValue("Action")
		asked.Store(r)
		w.WriteHeader(status)
		if status != http.StatusOK {
			fmt.Fprint(w, "<ErrorResponse><Error><Code>Refused</Code></Error></ErrorResponse>")
			return
		}
		fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>
<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%[2]s</Expiration>
</Credentials></%[1]sResult></%[1]sResponse>`, action, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}
