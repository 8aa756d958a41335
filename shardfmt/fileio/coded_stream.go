package fileio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// A column of Parquet whose dictionaries are short comes from the process that reads it as codes of them, which are a fraction of its values. The
// stream's schema has the type of the codes then, and the types of the file in its metadata.

// typesKey is where the metadata of a stream have the schema of the file, as arrowtype.MarshalSchema makes it.
const typesKey = "shardcat:types"

// tellTypes puts the types of the file into the metadata of the batches.
func (f *parquetFile) tellTypes() error {
	types, err := arrowtype.MarshalSchema(f.types)
	if err != nil {
		return err
	}
	metadata := arrow.NewMetadata([]string{typesKey}, []string{string(types)})
	f.stored = arrow.NewSchema(f.stored.Fields(), &metadata)
	return nil
}

// toldTypes is the schema of the file whose batches come with s: each column is of the type of the file, or codes of that.
func toldTypes(s *arrow.Schema) (*arrow.Schema, error) {
	metadata := s.Metadata()
	told, _ := metadata.GetValue(typesKey)
	types, err := arrowtype.UnmarshalSchema([]byte(told))
	if err != nil {
		return nil, damaged(err)
	}
	if types.NumFields() != s.NumFields() {
		return nil, damaged(fmt.Errorf("%d columns, expected %d", s.NumFields(), types.NumFields()))
	}
	for i, f := range s.Fields() {
		want, sent := types.Field(i).Type, f.Type
		if d, ok := sent.(*arrow.DictionaryType); ok && !arrow.TypeEqual(sent, want) {
			sent = d.ValueType
		}
		if sent = arrowtype.WithoutInt96(sent); !arrow.TypeEqual(sent, want) {
			return nil, damaged(fmt.Errorf("field %q: type %v, expected %v", f.Name, f.Type, want))
		}
	}
	return types, nil
}

// codedStream is a stream of batches of which some columns are codes of values of the file's types.
type codedStream struct {
	*arrowStream
	types *arrow.Schema
}

func (s *codedStream) schema() *arrow.Schema { return s.types }
