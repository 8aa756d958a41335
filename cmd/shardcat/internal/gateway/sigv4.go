package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	sigAlgorithm = "AWS4-HMAC-SHA256"
	sigTime      = "20060102T150405Z"
	// maxSkew is how far the clocks of client and server may be apart.
	maxSkew = 15 * time.Minute
	// maxPresigned is the longest validity of a presigned URL, as S3 has it.
	maxPresigned = 7 * 24 * time.Hour
	noPayload    = "UNSIGNED-PAYLOAD"
)

// signature is what a request states about its signature, in its headers or, presigned, in its query.
type signature struct {
	accessKey, date, region, service string
	headers                          []string
	signature, session, payload      string
	at                               time.Time
	presigned                        bool
	expires                          time.Duration
}

// signed reads the signature of a request; an error if there is none.
func signed(r *http.Request) (*signature, *s3Error) {
	malformed := func(what string) (*signature, *s3Error) {
		return nil, &s3Error{http.StatusBadRequest, "AuthorizationHeaderMalformed", "signature: " + what}
	}
	s := &signature{}
	var scope, headers, at string
	query := r.URL.Query()
	if auth := r.Header.Get("Authorization"); auth != "" {
		rest, ok := strings.CutPrefix(auth, sigAlgorithm)
		if !ok {
			return nil, denied("only AWS Signature Version 4 is accepted")
		}
		for part := range strings.SplitSeq(rest, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "Credential":
				scope = value
			case "SignedHeaders":
				headers = value
			case "Signature":
				s.signature = value
			}
		}
		at, s.session, s.payload = r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Security-Token"), r.Header.Get("X-Amz-Content-Sha256")
		if s.payload == "" {
			s.payload = noPayload
		}
	} else if query.Get("X-Amz-Algorithm") == sigAlgorithm {
		s.presigned, s.payload = true, noPayload
		scope, headers, s.signature = query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Signature")
		at, s.session = query.Get("X-Amz-Date"), query.Get("X-Amz-Security-Token")
		seconds, err := strconv.ParseInt(query.Get("X-Amz-Expires"), 10, 64)
		if err != nil || seconds < 1 || seconds > int64(maxPresigned/time.Second) {
			return malformed("X-Amz-Expires")
		}
		s.expires = time.Duration(seconds) * time.Second
	} else {
		return nil, denied("the request is not signed: use the credentials returned with the loaded table")
	}
	parts := strings.Split(scope, "/")
	if len(parts) != 5 || parts[4] != "aws4_request" || parts[3] != "s3" {
		return malformed("credential scope")
	}
	s.accessKey, s.date, s.region, s.service = parts[0], parts[1], parts[2], parts[3]
	s.headers = strings.Split(headers, ";")
	if !slices.Contains(s.headers, "host") {
		return malformed("the host is not signed")
	}
	var err error
	if s.at, err = time.Parse(sigTime, at); err != nil || s.at.Format("20060102") != s.date {
		return malformed("date")
	}
	return s, nil
}

// check returns the credentials that a request was signed with.
func (k keys) check(r *http.Request) (*credentials, *s3Error) {
	s, refusal := signed(r)
	if refusal != nil {
		return nil, refusal
	}
	c, ok := k.credentialsOf(s.accessKey)
	if !ok {
		return nil, &s3Error{http.StatusForbidden, "InvalidAccessKeyId", "the access key was not issued by this server"}
	}
	want := hex.EncodeToString(s.sign(c.secret, s.canonical(r)))
	if !hmac.Equal([]byte(want), []byte(s.signature)) {
		return nil, &s3Error{http.StatusForbidden, "SignatureDoesNotMatch", "the signature does not match the request and access key"}
	}
	if !hmac.Equal([]byte(c.session), []byte(s.session)) {
		return nil, &s3Error{http.StatusForbidden, "InvalidToken", "the security token does not belong to the access key"}
	}
	now := k.now()
	switch age := now.Sub(s.at); {
	case !now.Before(c.expires):
		return nil, &s3Error{http.StatusBadRequest, "ExpiredToken", "the credentials have expired: load the table again"}
	case age < -maxSkew, !s.presigned && age > maxSkew:
		return nil, &s3Error{http.StatusForbidden, "RequestTimeTooSkewed", "the time of the request is too far from that of the server"}
	case s.presigned && age > s.expires:
		return nil, denied("the presigned URL has expired")
	}
	return c, nil
}

// sign computes the signature of a canonical request.
func (s *signature) sign(secret, canonical string) []byte {
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{
		sigAlgorithm, s.at.Format(sigTime), s.date + "/" + s.region + "/" + s.service + "/aws4_request", hex.EncodeToString(sum[:]),
	}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.date, s.region, s.service, "aws4_request", text} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	return key
}

// canonical is the request as it was signed.
func (s *signature) canonical(r *http.Request) string {
	var query []string
	for name, values := range r.URL.Query() {
		if s.presigned && name == "X-Amz-Signature" {
			continue
		}
		for _, v := range values {
			query = append(query, awsEscape(name, false)+"="+awsEscape(v, false))
		}
	}
	slices.Sort(query)
	var headers strings.Builder
	for _, name := range s.headers {
		fmt.Fprintf(&headers, "%s:%s\n", name, headerValue(r, name))
	}
	return strings.Join([]string{
		r.Method, awsEscape(r.URL.Path, true), strings.Join(query, "&"), headers.String(), strings.Join(s.headers, ";"), s.payload,
	}, "\n")
}

// headerValue is the canonical value of a header. The server keeps some of them elsewhere.
func headerValue(r *http.Request, name string) string {
	values := r.Header.Values(name)
	switch {
	case name == "host":
		values = []string{r.Host}
	case name == "content-length" && len(values) == 0:
		values = []string{strconv.FormatInt(max(r.ContentLength, 0), 10)}
	}
	trimmed := make([]string, len(values))
	for i, v := range values {
		trimmed[i] = strings.Join(strings.Fields(v), " ")
	}
	return strings.Join(trimmed, ",")
}

// awsEscape escapes all but unreserved characters, and slashes unless they are to be kept.
func awsEscape(s string, keepSlashes bool) string {
	escaped := strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	escaped = strings.ReplaceAll(escaped, "%7E", "~")
	if keepSlashes {
		escaped = strings.ReplaceAll(escaped, "%2F", "/")
	}
	return escaped
}
