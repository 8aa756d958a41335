package gateway

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/internal/access"
)

// validFor is how long tokens and credentials are valid.
const validFor = time.Hour

// keys make tokens and credentials from one secret, and check them.
type keys struct {
	secret []byte
	now    func() time.Time
}

// newKeys derives the secret from the server's tokens. Without tokens only programs on this machine read, of this process.
func newKeys(t access.Tokens, now func() time.Time) keys {
	token := t.Read
	if token == "" {
		token = t.Write
	}
	if token == "" {
		token = rand.Text()
	}
	sum := sha256.Sum256([]byte("shardcat gateway\x00" + token))
	return keys{sum[:], now}
}

// mac is a code over a text for one purpose.
func (k keys) mac(purpose, text string) []byte {
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte(purpose + "\x00" + text))
	return h.Sum(nil)
}

// bearerPrefix begins the tokens that are made here.
const bearerPrefix = "scg1."

// token makes a bearer token.
func (k keys) token() (text string, expires time.Time) {
	expires = k.now().Add(validFor)
	at := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(expires.Unix())))
	return bearerPrefix + at + "." + base64.RawURLEncoding.EncodeToString(k.mac("bearer", at)), expires
}

// validToken reports whether a token was made here and has not expired.
func (k keys) validToken(text string) bool {
	text, ok := strings.CutPrefix(text, bearerPrefix)
	if !ok {
		return false
	}
	at, code, ok := strings.Cut(text, ".")
	if !ok {
		return false
	}
	given, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil || !hmac.Equal(given, k.mac("bearer", at)) {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(at)
	return err == nil && len(b) == 8 && k.now().Unix() < int64(binary.BigEndian.Uint64(b))
}

// credentials are S3 credentials for the objects of one table.
type credentials struct {
	accessKey, secret, session string
	table                      string // its UUID
	expires                    time.Time
}

var accessKeyText = base32.StdEncoding.WithPadding(base32.NoPadding)

// accessKeyPrefix begins access keys.
const accessKeyPrefix = "SCG1"

// credentials makes credentials for a table.
func (k keys) credentials(table string) (*credentials, error) {
	id, err := uuid.Parse(table)
	if err != nil {
		return nil, err
	}
	expires := k.now().Add(validFor)
	key := binary.BigEndian.AppendUint64(id[:], uint64(expires.Unix()))
	return k.complete(accessKeyPrefix+accessKeyText.EncodeToString(key), id, expires), nil
}

func (k keys) complete(accessKey string, id uuid.UUID, expires time.Time) *credentials {
	return &credentials{
		accessKey: accessKey, table: id.String(), expires: expires,
		secret:  base64.RawURLEncoding.EncodeToString(k.mac("s3 secret", accessKey)),
		session: base64.RawURLEncoding.EncodeToString(k.mac("s3 session", accessKey)),
	}
}

// credentialsOf gives the credentials of an access key. That a request was signed with their secret proves that they were made here.
func (k keys) credentialsOf(accessKey string) (*credentials, bool) {
	text, ok := strings.CutPrefix(accessKey, accessKeyPrefix)
	if !ok {
		return nil, false
	}
	b, err := accessKeyText.DecodeString(text)
	if err != nil || len(b) != 24 {
		return nil, false
	}
	return k.complete(accessKey, uuid.UUID(b[:16]), time.Unix(int64(binary.BigEndian.Uint64(b[16:])), 0)), true
}
