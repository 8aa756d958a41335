package blobio

// ClientOptions of NewClient. What is zero has its default.
type ClientOptions struct {
	// Concurrency is how many pieces of work Each and ReadRanges have under way: 16.
	Concurrency int
	// BucketConcurrency is how many requests one remote bucket has in flight: DefaultBucketConcurrency. Two reads of up to 256 KiB count as one
	// request.
	BucketConcurrency int
	// Gap is how many bytes ReadRanges reads and drops at most to save a request: 1 MiB; none if it is negative.
	Gap int64
	// Request is how many bytes one request of ReadRanges has at most: 8 MiB.
	Request int64
	// Retry is how long requests to remote buckets are tried: RetryPolicy.WithDefaults.
	Retry RetryPolicy
	// Hedging makes ranged reads of remote buckets that take longer than 95 % of their likes send a second time, for at most 5 % of them.
	Hedging bool
	// UnconditionalWrites lets a store that refuses conditional creates be written to all the same: a HEAD precedes each create, and two
	// writers of one key may overwrite each other.
	UnconditionalWrites bool
	// ReadMemory bounds the bytes that reads of this Client have in flight; those of all other Clients of the process have 256 MiB together.
	ReadMemory int64
	// Cache keeps what was read. It must not be given for objects whose names are used again.
	Cache CacheOptions
	// CacheOf is another Client, through whose cache this one reads, so that both keep within one bound.
	CacheOf *Client
	// Stores gives buckets and folders their options. An option in the URL of a Mount wins over that of its bucket, and one of a folder over
	// both. Of several folders the innermost counts.
	Stores *Stores
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

// options are those of a Client, with their defaults.
type options struct {
	ClientOptions
	memory *budget
}

func (o ClientOptions) withDefaults() options {
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.BucketConcurrency <= 0 {
		o.BucketConcurrency = DefaultBucketConcurrency
	}
	switch {
	case o.Gap == 0:
		o.Gap = defaultGap
	case o.Gap < 0:
		o.Gap = 0
	}
	if o.Request <= 0 {
		o.Request = defaultRequest
	}
	o.Retry = o.Retry.WithDefaults()
	if o.ReadMemory > 0 {
		return options{o, newBudget(o.ReadMemory)}
	}
	return options{o, process}
}

// Retry is the policy by which the Client repeats requests to remote buckets.
func (c *Client) Retry() RetryPolicy { return c.opts.Retry }
