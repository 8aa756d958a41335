package blobio

// Option sets one of a Space's options.
type Option func(*options)

type options struct {
	concurrency int
	gap         int64
	request     int64
}

// The defaults of a Space.
const (
	// DefaultConcurrency is how many requests Each and ReadRanges have in flight: enough for 16 streams of
	// 50 MiB/s to fill a 6 Gbit/s link.
	DefaultConcurrency = 16
	// DefaultGap is the most bytes that are read and dropped to save a request: at 30 ms to the first byte
	// and 50 MiB/s, a request costs as much as 1.5 MiB.
	DefaultGap = 1 << 20
	// DefaultRequest is the most bytes of one request: 160 ms at 50 MiB/s, so that the 30 ms to the first
	// byte are a fifth of it.
	DefaultRequest = 8 << 20
)

func defaults() options {
	return options{concurrency: DefaultConcurrency, gap: DefaultGap, request: DefaultRequest}
}

// WithConcurrency sets how many requests Each and ReadRanges have in flight, at least 1.
func WithConcurrency(n int) Option {
	return func(o *options) { o.concurrency = max(1, n) }
}

// WithCoalescing sets the most bytes that ReadRanges reads and drops to save a request (0: none) and the most
// bytes of one request.
func WithCoalescing(gap, request int64) Option {
	return func(o *options) { o.gap, o.request = max(0, gap), max(1, request) }
}
