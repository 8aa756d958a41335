package arrowtype

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// PropertySchema is the custom property of a shard that holds the Arrow schema its records came with, as the
// bytes of an Arrow IPC stream without batches.
const PropertySchema = "arrow.schema"

// Restores reports whether a shard schema exported by the default mapping is the Arrow schema it came from; if
// not, the shard should carry the property PropertySchema.
func Restores(original *arrow.Schema) bool {
	s, _, err := FromArrow(original)
	if err != nil {
		return false
	}
	e, err := NewExporter(s, ExportOptions{})
	return err == nil && e.Schema().Equal(original) && original.Metadata().Len() == 0
}

// MarshalSchema gives the bytes of the property PropertySchema.
func MarshalSchema(s *arrow.Schema) ([]byte, error) {
	var b bytes.Buffer
	err := ipc.NewWriter(&b, ipc.WithSchema(s)).Close()
	return b.Bytes(), err
}

// maxSchemaProperty bounds what UnmarshalSchema reads, in bytes.
const maxSchemaProperty = 16 << 20

// UnmarshalSchema reads the property PropertySchema, which may be anything.
func UnmarshalSchema(b []byte) (s *arrow.Schema, err error) {
	if len(b) > maxSchemaProperty {
		return nil, ErrSchema
	}
	if err := checkSchemaStream(b); err != nil {
		return nil, err
	}
	defer func() { // Arrow's reader panics on some of what is not a schema
		if recover() != nil {
			s, err = nil, ErrSchema
		}
	}()
	// Only a message reader heeds the limits.
	m := ipc.NewMessageReader(bytes.NewReader(b), ipc.WithMetadataSizeLimit(int64(len(b))), ipc.WithBodySizeLimit(int64(len(b))))
	r, err := ipc.NewReaderFromMessageReader(m)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return r.Schema(), nil
}
