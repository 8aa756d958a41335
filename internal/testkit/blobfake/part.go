package blobfake

import (
	"net/http"
	"strconv"
)

// sendPart answers a GET or a HEAD with a part of an object. The quirks head-no-length and chunked-get leave Content-Length out.
func sendPart(w http.ResponseWriter, r *http.Request, status int, part []byte, has func(quirk string) bool) {
	head := r.Method == http.MethodHead
	switch {
	case head && has("head-no-length"):
		w.Header().Set("Transfer-Encoding", "chunked")
	case !head && has("chunked-get"):
	default:
		w.Header().Set("Content-Length", strconv.Itoa(len(part)))
	}
	w.WriteHeader(status)
	if head {
		return
	}
	if has("chunked-get") {
		w.(http.Flusher).Flush()
	}
	_, _ = w.Write(part)
}
