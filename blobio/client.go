package blobio

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardcat/shardcat/urlresolve"
)

// Client is all buckets of a process, found by canonical URL, with the counters of the requests made to them. All
// methods may be called concurrently. A file or mem URL needs no mount, a bucket of a cloud only where it has
// options.
type Client struct {
	*core
	// What follows is that of a view.
	chain    *chain // of requests that wait for one another
	pins     *pins  // nil: reads are not pinned
	ifMatch  string // the ETag that reads request
	uncached bool
	inTurn   bool       // Each makes one call after the other
	open     *OpenFiles // what drivers keep open; nil: nothing
	also     *tally     // counts the requests through the view; nil: nothing does
}

// core is what a Client and its views share.
type core struct {
	opts  options
	tally tally
	root  chain
	// readsBack: see ReadBackWrites.
	readsBack atomic.Bool

	openCache sync.Once
	cache     *shared // nil if there is none
	cacheErr  error

	mu     sync.RWMutex
	mounts map[string]*mount // by the canonical URL of the bucket, with its trailing slash
	closed bool
}

// mount is a bucket and the layers above it.
type mount struct {
	root   string
	query  string // the options it was mounted with
	bucket Bucket
	limits []string       // of the driver
	prober checksumProber // the driver, nil if it is none
	linked linked         // the driver, nil if it is none
	lender Lender         // the driver with its counters, nil if it is none
	scopes *scoped        // folders with credentials of their own, nil where there are none
	local  bool
	nearby bool // see Nearby
	tally  *tally
}

// NewClient makes a Client without buckets.
func NewClient(o ClientOptions) *Client {
	c := &Client{core: &core{opts: o.withDefaults(), mounts: map[string]*mount{}}}
	c.chain = &c.root
	return c
}

// Counters reports the requests made so far.
func (c *Client) Counters() Counters { return c.tally.read() }

// Mount opens the bucket of a URL with the options in its query, and returns the location without them, as it
// may be stored and printed: file:///dir, s3://bucket/prefix, abfss://container@account.dfs.core.windows.net/p.
// A plain path becomes a file URL. Without options those of ClientOptions.Stores hold. Mounting a bucket again keeps the bucket that is there; options that differ
// from its own are an error.
func (c *Client) Mount(ctx context.Context, rawURL string) (canonical string, err error) {
	u, err := parseMount(rawURL)
	if err != nil {
		return "", err
	}
	open, err := driver(u.Scheme)
	if err != nil {
		return "", cannotOpen(rawURL, err)
	}
	given := u.RawQuery != ""
	u.RawQuery = c.opts.Stores.query(u)
	bucket, err := open(ctx, u)
	var told *Error
	switch {
	case errors.As(err, &told):
		return "", err
	case err != nil:
		return "", cannotOpen(rawURL, err)
	}
	at, err := locate(bucket, u)
	if err != nil {
		return "", errors.Join(err, bucket.Close())
	}
	if err := c.add(at.Root(), bucket, given, u.RawQuery); err != nil {
		return "", err
	}
	return at.String(), nil
}

// cannotOpen is the error of a URL by which no bucket can be opened: no request was made to any store.
func cannotOpen(url string, err error) error {
	return fmt.Errorf("open %s: %w", urlresolve.Redact(url), err)
}

// parseMount reads a URL as a person types it: a plain path, an alias, a bucket without a slash, options.
func parseMount(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		if scheme, rest, ok := strings.Cut(raw, ":/"); ok {
			if _, err := driver(scheme); err == nil {
				return nil, cannotOpen(raw, fmt.Errorf("a URL has two slashes behind its scheme: %s://%s; for a folder of that name write ./%s",
					scheme, strings.TrimLeft(rest, "/"), raw))
			}
		}
		abs, err := filepath.Abs(raw)
		if err != nil {
			return nil, cannotOpen(raw, err)
		}
		raw = "file://" + urlresolve.EscapeKey(filepath.ToSlash(abs))
	}
	u, err := url.Parse(raw)
	if err != nil { // the error of url.Parse repeats its input
		return nil, cannotOpen(raw, errors.New("malformed URL"))
	}
	if u.Fragment != "" {
		return nil, cannotOpen(raw, errors.New("a fragment in the URL"))
	}
	return respelled(u), nil
}

// respelled gives an alias of another scheme its own: https://a.blob.core.windows.net/c/k is read by the
// driver of Azure and not by that of web servers.
func respelled(u *url.URL) *url.URL {
	plain := *u
	plain.RawQuery, plain.ForceQuery = "", false
	at, err := urlresolve.Parse(plain.String())
	if err != nil || at.Scheme == u.Scheme {
		return u
	}
	canonical, err := url.Parse(at.String())
	if err != nil {
		return u
	}
	canonical.RawQuery = u.RawQuery
	return canonical
}

// locate finds the canonical location of the bucket that a driver opened for u.
func locate(bucket Bucket, u *url.URL) (urlresolve.Location, error) {
	plain := *u
	plain.RawQuery, plain.ForceQuery = "", false
	base, path := plain.Scheme+"://"+authority(&plain)+"/", strings.TrimPrefix(plain.EscapedPath(), "/")
	if l, ok := bucket.(locator); ok {
		base = l.Location()
	}
	return urlresolve.Parse(base + path)
}

func authority(u *url.URL) string {
	if u.User != nil {
		return u.User.String() + "@" + u.Host
	}
	return u.Host
}

// locator is a Bucket whose canonical URL does not follow from the URL it was opened by.
type locator interface {
	// Location is the canonical URL of the bucket, with its trailing slash.
	Location() string
}

// Limited is a Bucket that can't promise all that a bucket should.
type Limited interface {
	// Limits names what it can't promise, one sentence each.
	Limits() []string
}

// Limits names what the bucket that a URL lies in can't promise: nothing for the drivers of this module.
func (c *Client) Limits(ctx context.Context, url string) ([]string, error) {
	m, _, err := c.find(ctx, url)
	if err != nil {
		return nil, err
	}
	return m.limits, nil
}

// checksumProber is a Bucket that can find out whether its store compares uploads with their checksums.
type checksumProber interface {
	// ProbeChecksum sends an object under a free key with a checksum that is not its own, and reports
	// whether the store refused it for that. If it did not, the object may be there. A driver that can't find
	// out returns errors.ErrUnsupported.
	ProbeChecksum(ctx context.Context, key string) (checked bool, err error)
}

// ProbeChecksum reports whether the store of a URL, which must be free, compares uploads with their checksums;
// known is false where the driver can't find out.
func (c *Client) ProbeChecksum(ctx context.Context, url string) (checked, known bool, err error) {
	m, key, err := c.find(ctx, url)
	if err != nil || m.prober == nil {
		return false, false, err
	}
	limits := timed{policy: c.opts.Retry}
	err = c.opts.Retry.Do(ctx, func() error {
		return limits.within(ctx, 0, "create", url, func(ctx context.Context) error {
			checked, err = m.prober.ProbeChecksum(ctx, key)
			return err
		})
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return false, false, nil
	}
	return checked, true, wrap("create", url, err)
}

// linked is a Bucket in which a name may be a symbolic link.
type linked interface {
	// LeadsOut reports whether there is an object at a key that, seen through links, lies in none of the folders.
	LeadsOut(key string, folders []string) bool
}

// LeadsOut reports whether the object of a URL, seen through symbolic links, lies in none of some folders, whose URLs have
// the same scheme and bucket. It is false where there are no links.
func (c *Client) LeadsOut(ctx context.Context, url string, folders []string) (bool, error) {
	m, key, err := c.find(ctx, url)
	if err != nil || m.linked == nil {
		return false, err
	}
	keys := make([]string, len(folders))
	for i, folder := range folders {
		if in, key := c.known(folder); in != nil {
			keys[i] = key
			continue
		}
		at, err := urlresolve.Parse(folder)
		if err != nil {
			return false, err
		}
		keys[i] = at.Key()
	}
	return m.linked.LeadsOut(key, keys), nil
}

// MountBucket adds a bucket that the caller opened or made, under the URL of its root ("mem://name/").
func (c *Client) MountBucket(rootURL string, bucket Bucket) error {
	at, err := urlresolve.Parse(rootURL)
	if err != nil {
		return err
	}
	if at.Path != "" {
		return cannotOpen(rootURL, errors.New("not the root of a bucket"))
	}
	return c.add(at.Root(), bucket, false, "")
}

// add makes a bucket the one of its root, unless there is one. Where options were given they must be those that it was opened with.
func (c *Client) add(root string, bucket Bucket, given bool, query string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return NewError("open", root, ErrClosed, bucket.Close())
	}
	if m, there := c.mounts[root]; there {
		if given && !sameQuery(query, m.query) {
			return cannotOpen(root, errors.Join(errors.New("the bucket is already open with other options"), bucket.Close()))
		}
		return bucket.Close()
	}
	m := c.layer(root, bucket)
	m.query = query
	if err := c.opts.Stores.scopes(root, query, m.scopes); err != nil {
		return errors.Join(err, bucket.Close())
	}
	c.mounts[root] = m
	return nil
}

// sameQuery reports whether two queries hold the same options, in whatever order.
func sameQuery(a, b string) bool {
	p, err1 := url.ParseQuery(a)
	q, err2 := url.ParseQuery(b)
	return a == b || err1 == nil && err2 == nil && p.Encode() == q.Encode()
}

// layer puts what the options require on top of a driver. From below: counters, which see each attempt; time
// limits; bounds on how much at once and how fast; second requests; retries. A local bucket has the counters alone.
func (c *Client) layer(root string, bucket Bucket) *mount {
	l, ok := bucket.(interface{ Local() bool })
	local := ok && l.Local()
	store := new(tally)
	m := &mount{root: root, local: local, tally: store}
	m.prober, _ = bucket.(checksumProber)
	below := bucket
	if !local {
		m.scopes = &scoped{Bucket: bucket}
		below = m.scopes
		if m.prober != nil {
			m.prober = m.scopes
		}
	}
	counts := &counted{bucket: below, core: c.core, store: store, local: local}
	m.bucket = counts
	m.linked, _ = bucket.(linked)
	if l, ok := bucket.(Limited); ok {
		m.limits = l.Limits()
	}
	if n, ok := bucket.(nearby); ok {
		m.nearby = n.Nearby()
	}
	if local {
		if _, ok := bucket.(Lender); ok {
			m.lender = counts
		}
		return m
	}
	m.bucket = &timed{Bucket: m.bucket, policy: c.opts.Retry}
	m.bucket = newLimited(m.bucket, c.opts.BucketConcurrency)
	if c.opts.Hedging {
		m.bucket = &hedged{Bucket: m.bucket, share: hedgeShare}
	}
	policy := c.opts.Retry
	policy.retried = &both{all: &c.tally, one: store}
	m.bucket = &retrying{Bucket: m.bucket, policy: policy}
	return m
}

// Bucket gives the bucket that a URL lies in, with all that the Client puts on top of its driver. Closing it
// closes it for the Client.
func (c *Client) Bucket(ctx context.Context, url string) (Bucket, error) {
	m, _, err := c.find(ctx, url)
	if err != nil {
		return nil, err
	}
	return m.bucket, nil
}

// find gives the mount and the key of a canonical URL, or of one in another spelling.
func (c *Client) find(ctx context.Context, raw string) (*mount, string, error) {
	if m, key := c.known(raw); m != nil {
		return m, key, nil
	}
	at, err := urlresolve.Parse(raw)
	if err != nil {
		return nil, "", err
	}
	c.mu.RLock()
	m, closed := c.mounts[at.Root()], c.closed
	c.mu.RUnlock()
	switch {
	case closed:
		return nil, "", NewError("open", at.Root(), ErrClosed, nil)
	case m != nil:
		return m, at.Key(), nil
	}
	if _, err := c.Mount(ctx, at.Root()); err != nil {
		return nil, "", err
	}
	m, err = c.mounted(at.Root())
	return m, at.Key(), err
}

// mounted returns the bucket of a root that was opened, ErrClosed if the Client was closed since.
func (c *Client) mounted(root string) (*mount, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if m := c.mounts[root]; m != nil {
		return m, nil
	}
	return nil, NewError("open", root, ErrClosed, nil)
}

// known is the short way for canonical URLs without escapes in buckets that are there.
func (c *Client) known(raw string) (*mount, string) {
	i := strings.Index(raw, "://")
	if i < 0 || strings.ContainsAny(raw, "%?#\\") || strings.Contains(raw, "/.") {
		return nil, ""
	}
	j := strings.IndexByte(raw[i+3:], '/')
	if j < 0 {
		return nil, ""
	}
	end := i + 3 + j + 1
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return nil, ""
	}
	return c.mounts[raw[:end]], raw[end:]
}

// Close closes all buckets. Later calls fail with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for root, m := range c.mounts {
		errs = append(errs, m.bucket.Close())
		delete(c.mounts, root)
	}
	return errors.Join(errs...)
}
