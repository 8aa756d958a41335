// Package sysfield adds the internal fields of a shard to records on their way in: when each was ingested, and
// an identity that no other record has.
//
// An internal field is recognised by the annotation of its node, never by its name; its name here is that of the
// annotation, so that no field of a user's is in its way. Readers leave internal fields out unless requested.
package sysfield

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Options determine which fields to add. The zero value adds none.
type Options struct {
	// IngestionTime adds a DateTime: Now for every record, in ticks of 100 ns since year 1.
	IngestionTime bool
	Now           int64
	// RecordID adds 16 bytes: eight random ones, the same for all records of an Adder, then a big-endian count.
	RecordID bool
}

// identitySize is the length of a record identity in bytes.
const identitySize = 16

// Adder adds the fields to batches. Not for concurrent use.
type Adder struct {
	options Options
	schema  *schema.Schema
	types   *arrow.Schema
	prefix  [8]byte
	next    uint64
}

// New prepares to add fields to records of a schema, which is left as it is.
func New(s *schema.Schema, o Options) *Adder {
	a := &Adder{options: o, schema: &schema.Schema{Fields: append([]*schema.Node(nil), s.Fields...)}}
	if o.IngestionTime {
		a.schema.Fields = append(a.schema.Fields, &schema.Node{
			Name: schema.InternalIngestionTimestamp, Internal: schema.InternalIngestionTimestamp, Basic: schema.DateTime,
		})
	}
	if o.RecordID {
		a.schema.Fields = append(a.schema.Fields, &schema.Node{
			Name: schema.InternalRecordIdentity, Internal: schema.InternalRecordIdentity, Basic: schema.FixedSizeBinary, FixedSize: identitySize,
		})
		_, _ = rand.Read(a.prefix[:]) // never fails: see crypto/rand
	}
	a.schema.Number()
	a.types = arrowtype.Schema(a.schema)
	return a
}

// Schema is that of the batches which Add returns.
func (a *Adder) Schema() *schema.Schema { return a.schema }

// Add returns a batch in canonical types with the fields added. The caller releases both.
func (a *Adder) Add(batch arrow.RecordBatch) arrow.RecordBatch {
	columns := append([]arrow.Array(nil), batch.Columns()...)
	n := int(batch.NumRows())
	if a.options.IngestionTime {
		columns = append(columns, a.times(n))
	}
	if a.options.RecordID {
		columns = append(columns, a.identities(n))
	}
	return array.NewRecordBatch(a.types, columns, int64(n))
}

func (a *Adder) times(n int) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(n)
	for range n {
		b.UnsafeAppend(a.options.Now)
	}
	return array.NewExtensionArrayWithStorage(arrowtype.DateTime, b.NewArray())
}

func (a *Adder) identities(n int) arrow.Array {
	b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: identitySize})
	defer b.Release()
	id := append(a.prefix[:len(a.prefix):len(a.prefix)], make([]byte, identitySize-len(a.prefix))...)
	for range n {
		binary.BigEndian.PutUint64(id[len(a.prefix):], a.next)
		b.Append(id)
		a.next++
	}
	return b.NewArray()
}
