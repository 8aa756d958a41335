package faultproxy

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/internal/httptransport"
	"github.com/shardcat/shardcat/internal/testkit/fault"
)

// slowPiece is how many bytes of a slow body come at a time.
const slowPiece = 4 << 10

// codes are what the stores say with a status where the script names nothing else.
var codes = map[int][3]string{ // S3, Azure, GCS
	403: {"AccessDenied", "AuthorizationFailure", "forbidden"},
	404: {"NoSuchKey", "BlobNotFound", "notFound"},
	409: {"ConditionalRequestConflict", "BlobAlreadyExists", "conflict"},
	412: {"PreconditionFailed", "ConditionNotMet", "conditionNotMet"},
	429: {"TooManyRequests", "TooManyRequests", "rateLimitExceeded"},
	500: {"InternalError", "InternalError", "internalError"},
	503: {"SlowDown", "ServerBusy", "backendError"},
}

// refusal is how the store that r speaks to would say the rule's status.
func refusal(r *http.Request, broken *fault.Rule) *answer {
	header := http.Header{"Content-Type": {"application/xml"}}
	if broken.Wait > 0 {
		header.Set("Retry-After", strconv.Itoa(int((broken.Wait+time.Second-1)/time.Second)))
	}
	said := codes[broken.Status]
	code := func(i int) string {
		if broken.Code != "" {
			return broken.Code
		}
		return said[i]
	}
	const text = "made by the fault proxy"
	var body string
	switch {
	case httptransport.IsGCS(r):
		header.Set("Content-Type", "application/json")
		body = fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"reason":%q}]}}`, broken.Status, text, code(2))
	case httptransport.IsAzure(r):
		header.Set("X-Ms-Error-Code", code(1))
		body = fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message></Error>", code(1), text)
	default:
		body = fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message></Error>", code(0), text)
	}
	return &answer{status: broken.Status, header: header, body: []byte(body)}
}

// writeHead sends status and headers. The length stays the store's, so that a body that ends early is seen.
func writeHead(w http.ResponseWriter, got *answer) {
	for name, values := range got.header {
		w.Header()[name] = values
	}
	if w.Header().Get("Content-Length") == "" && len(got.body) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(got.body)))
	}
	w.Header().Del("Transfer-Encoding")
	w.WriteHeader(got.status)
}

func writeAnswer(w http.ResponseWriter, r *http.Request, got *answer) {
	writeHead(w, got)
	if r.Method != http.MethodHead {
		w.Write(got.body) // a client that went away reads no answer
	}
}

// writeCut sends the first n bytes of the body and breaks the connection.
func writeCut(w http.ResponseWriter, got *answer, n int) {
	writeHead(w, got)
	w.Write(got.body[:n])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// writeSlowly sends the body in small pieces with a pause before each.
func writeSlowly(w http.ResponseWriter, r *http.Request, got *answer, pause time.Duration) {
	writeHead(w, got)
	for rest := got.body; len(rest) > 0; {
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
		n := min(slowPiece, len(rest))
		w.Write(rest[:n])
		http.NewResponseController(w).Flush()
		rest = rest[n:]
	}
}
