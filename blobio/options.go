package blobio

// Option sets one of a Client's options.
type Option func(*options)

type options struct {
	concurrency int
	slots       int
	gap         int64
	request     int64
	retry       RetryPolicy
	hedging     bool
	// unconditional: see WithUnconditionalWrites.
	unconditional bool
	memory        *budget
	cache         CacheOptions
	stores        *Stores
	cacheOf       *Client // whose cache is used instead, or nil
}

// The defaults of a Client.
const (
	// defaultConcurrency is how many pieces of work Each and ReadRanges have under way: enough for 16
	// streams of 50 MiB/s to fill a link of 6 Gbit/s.
	defaultConcurrency = 16
	// DefaultBucketConcurrency is how many requests one remote bucket has in flight: four such consumers. Twice as many
	// reads of up to 256 KiB.
	DefaultBucketConcurrency = 64
	// defaultGap is the most bytes that are read and dropped to save a request: at 30 ms to the first byte
	// and 50 MiB/s, a request costs as much as 1.5 MiB.
	defaultGap = 1 << 20
	// defaultRequest is the most bytes of one request: 160 ms at 50 MiB/s, so that the 30 ms to the first
	// byte are a fifth of it.
	defaultRequest = 8 << 20
	// defaultReadMemory is the most bytes that ReadRange and ReadRanges of all Clients together have in
	// flight: 32 requests of the largest size.
	defaultReadMemory = 256 << 20
)

func defaults() options {
	return options{concurrency: defaultConcurrency, slots: DefaultBucketConcurrency, gap: defaultGap,
		request: defaultRequest, retry: DefaultRetry, memory: process}
}

// WithConcurrency sets how many pieces of work Each and ReadRanges have under way, at least 1.
func WithConcurrency(n int) Option {
	return func(o *options) { o.concurrency = max(1, n) }
}

// WithBucketConcurrency sets how many requests one remote bucket has in flight, at least 1. Two reads of up to 256 KiB
// count as one request.
func WithBucketConcurrency(n int) Option {
	return func(o *options) { o.slots = max(1, n) }
}

// WithCoalescing sets the most bytes that ReadRanges reads and drops to save a request (0: none) and the most
// bytes of one request.
func WithCoalescing(gap, request int64) Option {
	return func(o *options) { o.gap, o.request = max(0, gap), max(1, request) }
}

// WithRetry sets how long to try requests to remote buckets.
func WithRetry(p RetryPolicy) Option {
	return func(o *options) { o.retry = p.WithDefaults() }
}

// Retry is the policy by which the Client repeats requests to remote buckets.
func (c *Client) Retry() RetryPolicy { return c.opts.retry }

// WithUnconditionalWrites lets a store that refuses conditional creates be written to all the same: a HEAD precedes each
// create, and two writers of one key may overwrite each other.
func WithUnconditionalWrites() Option {
	return func(o *options) { o.unconditional = true }
}

// WithHedging makes ranged reads of remote buckets that take longer than 95 % of their likes send a second
// time, for at most 5 % of them.
func WithHedging() Option {
	return func(o *options) { o.hedging = true }
}

// WithReadMemory gives the Client a bound of its own on the bytes that its reads have in flight, in place of
// defaultReadMemory for the whole process.
func WithReadMemory(bytes int64) Option {
	return func(o *options) { o.memory = newBudget(bytes) }
}

// WithCache makes a Client keep what it read. It must not be given for objects whose names are used again.
func WithCache(c CacheOptions) Option {
	return func(o *options) { o.cache = c }
}

// WithCacheOf makes a Client read through the cache of another one, so that both keep within one bound.
func WithCacheOf(c *Client) Option {
	return func(o *options) { o.cacheOf = c }
}
