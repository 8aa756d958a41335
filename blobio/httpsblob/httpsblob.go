// Package httpsblob reads objects of web servers that answer ranged requests. Importing it enables
// https://HOST/KEY and http://HOST/KEY in blobio, for the absolute references of shards that an allow list
// lets through.
//
// It only reads. It sends no credentials and keeps no cookies, follows no redirect, uses no proxy, and does
// not connect to the address of a cloud's metadata service, whatever name resolved to it. A server must answer
// ranges: one that sends the whole object instead is refused, unless the range begins at its start.
//
// What one call costs: ReadRange, ReadSuffix and Open 1 GET, Stat and empty ranges 1 HEAD. A connection that
// could not be made is tried again by go-retryablehttp; no request was made then, and none is counted.
package httpsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/httprange"
	"github.com/shardcat/shardcat/internal/apierror"
	"github.com/shardcat/shardcat/internal/httptransport"
	"github.com/shardcat/shardcat/urlresolve"
)

func init() {
	for _, scheme := range []string{"https", "http"} {
		blobio.Register(scheme, func(_ context.Context, u *url.URL) (blobio.Bucket, error) {
			if u.RawQuery != "" || u.User != nil {
				return nil, errors.New("an https location takes no options and no user")
			}
			return Open(u.Scheme, u.Host), nil
		})
	}
}

// bucket is one web server.
type bucket struct {
	reads  httprange.Reader
	client *http.Client
	root   string // scheme://host/
	closed atomic.Bool
}

var _ blobio.Bucket = (*bucket)(nil)

// Open opens the server at a host, with a port if it isn't the scheme's own. No request is made.
func Open(scheme, host string) blobio.Bucket {
	b := &bucket{client: newClient(), root: scheme + "://" + host + "/"}
	b.reads = httprange.Reader{Get: b.get, Head: b.head, Fail: b.fail}
	return b
}

func newClient() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: refuseMetadata}
	c := retryablehttp.NewClient()
	c.Logger = nil // it would log URLs
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = 2, 50*time.Millisecond, 500*time.Millisecond
	c.CheckRetry = retryDial
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.HTTPClient = &http.Client{CheckRedirect: httptransport.Stay, Transport: &http.Transport{
		DialContext:         dialer.DialContext,
		DisableCompression:  true,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 2 * blobio.DefaultBucketConcurrency, // of short reads
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}}
	outer := c.StandardClient()
	outer.CheckRedirect = httptransport.Stay // both clients would follow
	return outer
}

// errMetadata is the cause of a refused connection.
var errMetadata = errors.New("address of a metadata service")

// refuseMetadata looks at the address that a name resolved to, right before the connection is made.
func refuseMetadata(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if urlresolve.IsMetadataAddress(at.Addr()) {
		return errMetadata
	}
	return nil
}

// retryDial tries again what never reached a server.
func retryDial(ctx context.Context, _ *http.Response, err error) (bool, error) {
	var op *net.OpError
	never := errors.As(err, &op) && op.Op == "dial" && !errors.Is(err, errMetadata)
	return never && ctx.Err() == nil, nil
}

// fail makes the error of an operation on a key: nothing of the request but its URL, which holds no secret.
func (b *bucket) fail(ctx context.Context, op, key string, err error) error {
	class := apierror.Own(err)
	var said *apierror.Error
	switch {
	case class != nil:
	case errors.As(err, &said):
		class = apierror.OfStatus(said.Status)
	case errors.Is(err, errMetadata):
		class = blobio.ErrDenied
	default:
		class = apierror.OfNetwork(ctx, err)
	}
	return blobio.NewError(op, b.url(key), class, apierror.Redact(err))
}

func (b *bucket) url(key string) string { return b.root + urlresolve.EscapeKey(key) }

// do makes one request. An answer that is none is an error; the caller closes the body of others.
func (b *bucket) do(ctx context.Context, method, key, rng, pin string) (*http.Response, error) {
	if b.closed.Load() {
		return nil, blobio.ErrClosed
	}
	req, err := http.NewRequestWithContext(ctx, method, b.url(key), nil)
	if err != nil {
		return nil, errors.New("malformed URL")
	}
	req.Header.Set("Accept-Encoding", "identity")
	if rng != "" {
		req.Header.Set("Range", rng)
	}
	if isStrong(pin) {
		req.Header.Set("If-Match", pin)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := refusal(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// isStrong reports whether an ETag can be a condition; a weak one is compared with the answer's alone.
func isStrong(etag string) bool { return strings.HasPrefix(etag, `"`) }

// refusal is the error that an answer means, nil for 200 and 206.
func refusal(resp *http.Response) error {
	said := &apierror.Error{Status: resp.StatusCode, RetryAfter: apierror.RetryAfter(resp.Header)}
	switch {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusPartialContent:
		if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
			return fmt.Errorf("%w: the server compresses its responses", blobio.ErrUnknown)
		}
		return nil
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified:
		return fmt.Errorf("%w: redirects are not followed: %w", blobio.ErrDenied, said)
	}
	return said
}

// get makes one GET.
func (b *bucket) get(ctx context.Context, key string, span httprange.Span, opts blobio.ReadOptions) (httprange.Download, error) {
	resp, err := b.do(ctx, http.MethodGet, key, span.Header(), opts.IfMatch)
	if err != nil {
		return httprange.Download{}, err
	}
	info, e, err := told(key, resp)
	switch {
	case err != nil:
	case resp.StatusCode == http.StatusPartialContent && resp.Header.Get("Content-Range") == "":
		err = fmt.Errorf("%w: partial response without Content-Range", blobio.ErrUnknown)
	case span.Off != 0 && resp.StatusCode == http.StatusOK:
		err = fmt.Errorf("%w: the server does not support range requests", blobio.ErrDenied)
	}
	if err != nil {
		resp.Body.Close()
	}
	return httprange.Download{Body: resp.Body, Info: info, At: e.At, End: e.End}, err
}

// told is the metadata of the object and of the body in the headers.
func told(key string, resp *http.Response) (info blobio.Info, e httprange.Extent, err error) {
	info = blobio.Info{Key: key, ETag: resp.Header.Get("ETag")}
	info.ModTime, _ = http.ParseTime(resp.Header.Get("Last-Modified")) // left zero where the response has none
	e, err = httprange.ParseContentRange(resp.Header.Get("Content-Range"), resp.ContentLength)
	info.Size = e.Size
	return info, e, err
}

// ReadRange implements blobio.Bucket.
func (b *bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	return b.reads.ReadRange(ctx, key, off, dst, opts)
}

// ReadSuffix implements blobio.Bucket.
func (b *bucket) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	return b.reads.ReadSuffix(ctx, key, n, opts)
}

// Open implements blobio.Bucket.
func (b *bucket) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	return b.reads.Open(ctx, key, off, opts)
}

// Stat implements blobio.Bucket.
func (b *bucket) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	return b.reads.Stat(ctx, key, opts)
}

func (b *bucket) head(ctx context.Context, key string) (blobio.Info, error) {
	resp, err := b.do(ctx, http.MethodHead, key, "", "")
	if err != nil {
		return blobio.Info{}, err
	}
	resp.Body.Close()
	info, _, err := told(key, resp)
	return info, err
}

// errReadOnly is the cause of what this driver does not do.
var errReadOnly = errors.New("https locations are read-only and cannot be listed")

func (b *bucket) refuse(op, key string) error {
	if b.closed.Load() {
		return blobio.NewError(op, b.url(key), blobio.ErrClosed, nil)
	}
	return blobio.NewError(op, b.url(key), blobio.ErrDenied, errReadOnly)
}

// List implements blobio.Bucket; it is always refused.
func (b *bucket) List(_ context.Context, prefix string, _ blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) { yield(blobio.Info{}, b.refuse("list", prefix)) }
}

// Create implements blobio.Bucket; it is always refused.
func (b *bucket) Create(_ context.Context, key string, _ blobio.CreateOptions) (blobio.Writer, error) {
	return nil, b.refuse("create", key)
}

// Delete implements blobio.Bucket; it is always refused.
func (b *bucket) Delete(_ context.Context, key string, _ blobio.DeleteOptions) error {
	return b.refuse("delete", key)
}

// Close implements blobio.Bucket.
func (b *bucket) Close() error {
	b.closed.Store(true)
	b.client.CloseIdleConnections()
	return nil
}
