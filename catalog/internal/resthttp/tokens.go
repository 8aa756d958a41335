package resthttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Tokens hold the bearer token of a catalog. Of the sources that are given, the exchange is tried first, then the
// credential, then the file, then the token itself.
type Tokens struct {
	// Token is given as it is.
	Token string
	// File holds a token; it is read again when it was refused, and each minute: whoever wrote it replaces it.
	File string
	// Credential is "id:secret", or a secret alone, to be changed for a token at Server (OAuth2 client credentials).
	Credential string
	// Exchange changes Token, or that of File, for one of the catalog at Server (RFC 8693); Credential, if given,
	// identifies the client.
	Exchange bool
	// SubjectType is the type of the token that is exchanged, an access token if empty.
	SubjectType string
	// Server is the URL of the token endpoint.
	Server *url.URL
	// Scope, Audience and Resource of the token.
	Scope, Audience, Resource string

	// flight lets one request for a token be under way, which all others wait for.
	flight     chan struct{}
	makeFlight sync.Once

	mu sync.Mutex
	// held is the token in use, "" for none, and until when it holds; the zero time is until it is refused.
	held  string
	until time.Time
}

const (
	// fileAge is how often a token file is read.
	fileAge = time.Minute
	// maxToken bounds a token file.
	maxToken = 64 << 10
	// renewBefore is how long before its end a token is renewed; of short-lived ones, a tenth of their time.
	renewBefore = 30 * time.Second

	accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
	exchangeGrant   = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// current is the token to use; it is fetched if there is none that holds.
func (s *Tokens) current(ctx context.Context, t *Transport) (string, error) {
	s.makeFlight.Do(func() { s.flight = make(chan struct{}, 1) })
	select {
	case s.flight <- struct{}{}:
		defer func() { <-s.flight }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if token := s.holding(); token != "" {
		return token, nil
	}
	token, life, err := s.fetch(ctx, t)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.until = token, time.Time{}
	if life > 0 {
		s.until = time.Now().Add(life - min(renewBefore, life/10))
	}
	return token, nil
}

// holding is the token in use, "" if there is none that holds.
func (s *Tokens) holding() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() || time.Now().Before(s.until) {
		return s.held
	}
	return ""
}

// refused drops a token that the catalog refused, and reports whether another one can be had.
func (s *Tokens) refused(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != token {
		return true // another request has renewed it
	}
	if !s.renewable() {
		return false
	}
	s.held = ""
	return true
}

// renewable reports whether the token in use is none that was given as it is.
func (s *Tokens) renewable() bool { return s.Exchange || s.Credential != "" || s.File != "" }

// fetch gets a token from its source; life is 0 where it is not known.
func (s *Tokens) fetch(ctx context.Context, t *Transport) (token string, life time.Duration, err error) {
	switch {
	case s.Exchange:
		return s.exchange(ctx, t)
	case s.Credential != "":
		return s.issue(ctx, t, url.Values{"grant_type": {"client_credentials"}})
	case s.File != "":
		token, err = s.fromFile()
		return token, fileAge, err
	}
	return s.Token, 0, nil
}

// exchange changes the token of the environment for one of the catalog.
func (s *Tokens) exchange(ctx context.Context, t *Transport) (string, time.Duration, error) {
	subject := s.Token
	if s.File != "" {
		var err error
		if subject, err = s.fromFile(); err != nil {
			return "", 0, err
		}
	}
	kind := s.SubjectType
	if kind == "" {
		kind = accessTokenType
	}
	return s.issue(ctx, t, url.Values{"grant_type": {exchangeGrant}, "subject_token": {subject}, "subject_token_type": {kind},
		"requested_token_type": {accessTokenType}})
}

func (s *Tokens) fromFile() (string, error) {
	f, err := os.Open(s.File)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	defer f.Close()
	text := make([]byte, maxToken+1)
	n := 0
	for n < len(text) {
		k, err := f.Read(text[n:])
		if n += k; err != nil || k == 0 {
			break
		}
	}
	token := strings.TrimSpace(string(text[:n]))
	switch {
	case n > maxToken:
		return "", fmt.Errorf("token file %s: more than %d bytes", s.File, maxToken)
	case token == "":
		return "", fmt.Errorf("token file %s: no token", s.File)
	case strings.ContainsAny(token, " \t\r\n\x00"):
		return "", fmt.Errorf("token file %s: more than one word", s.File)
	}
	return token, nil
}

// issue requests a token.
func (s *Tokens) issue(ctx context.Context, t *Transport, form url.Values) (string, time.Duration, error) {
	if s.Credential != "" {
		id, secret, found := strings.Cut(s.Credential, ":")
		if !found {
			id, secret = "", s.Credential
		}
		form.Set("client_secret", secret)
		if id != "" {
			form.Set("client_id", id)
		}
	}
	for name, value := range map[string]string{"scope": s.Scope, "audience": s.Audience, "resource": s.Resource} {
		if value != "" {
			form.Set(name, value)
		}
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, repeatable{}, true), http.MethodPost, s.Server.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	resp, err := t.retried(r, "")
	if err != nil {
		return "", 0, fmt.Errorf("requesting a token from %s: %w", redacted(s.Server.String()), err)
	}
	var issued struct {
		Token       string          `json:"access_token"`
		Type        string          `json:"token_type"`
		ExpiresIn   json.Number     `json:"expires_in"`
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
	}
	decodeErr := json.Unmarshal(peek(resp), &issued)
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("requesting a token from %s: %s: %s", redacted(s.Server.String()), resp.Status, refusal(issued.Error, issued.Description))
	case decodeErr != nil:
		return "", 0, fmt.Errorf("requesting a token from %s: the response is not a token: %w", redacted(s.Server.String()), decodeErr)
	case issued.Token == "" || strings.ContainsAny(issued.Token, "\r\n\x00"):
		return "", 0, fmt.Errorf("requesting a token from %s: %w", redacted(s.Server.String()), errNoToken)
	}
	seconds, err := issued.ExpiresIn.Float64()
	if err != nil || seconds <= 0 || seconds > maxTokenLife.Seconds() {
		return issued.Token, 0, nil
	}
	return issued.Token, time.Duration(seconds * float64(time.Second)), nil
}

// maxTokenLife bounds what a server may state about a token's life; a longer one holds until it is refused.
const maxTokenLife = 365 * 24 * time.Hour

var errNoToken = errors.New("the response has no access token")

// refusal is what a token endpoint states about its refusal: a code of OAuth2, or Iceberg's error object.
func refusal(code json.RawMessage, description string) string {
	var text string
	var object struct{ Message, Type string }
	if json.Unmarshal(code, &text) != nil && json.Unmarshal(code, &object) == nil {
		text, description = object.Type, object.Message
	}
	words := strings.Join(strings.Fields(text+": "+description), " ")
	return strings.Trim(words[:min(len(words), 300)], ": ")
}
