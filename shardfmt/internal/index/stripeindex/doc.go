// Package stripeindex builds the indexes of stripes while a shard is written, and asks them while it is read.
//
// An index belongs to one stripe, and its positions count from the start of that stripe: so it stays right wherever
// the stripe comes to. A descriptor of ours carries what a scan must know to rely on it (docs/format/indexes.md).
//
//	Spec      what is requested: text:COL[:TOKENIZER], hash:COL
//	Builder   takes batches, gives a descriptor for each stripe
//	Reader    answers the questions of a filter with rows of a stripe, a superset of those that match
package stripeindex
