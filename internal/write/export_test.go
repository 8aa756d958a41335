package write

import (
	"context"

	"github.com/shardcat/shardcat/internal/field"
)

// AddStripe adds a stripe whose fields were made elsewhere.
func (w *Writer) AddStripe(ctx context.Context, records uint64, fields ...*field.Encoded) error {
	return w.out.add(ctx, &stripe{records: records, fields: fields})
}
