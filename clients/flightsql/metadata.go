package flightsql

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
)

// tableType is the one type of tables.
const tableType = "TABLE"

// metadataInfo is one endpoint whose ticket is the command itself.
func (s *server) metadataInfo(d *flight.FlightDescriptor, types *arrow.Schema) (*flight.FlightInfo, error) {
	return &flight.FlightInfo{
		FlightDescriptor: d, TotalRecords: -1, TotalBytes: -1, Schema: flight.SerializeSchema(types, s.Alloc),
		Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: d.Cmd}}},
	}, nil
}

// one is a stream of one batch. The builder is released.
func one(b *array.RecordBuilder) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	defer b.Release()
	out := make(chan flight.StreamChunk, 1)
	out <- flight.StreamChunk{Data: b.NewRecordBatch()}
	close(out)
	return b.Schema(), out, nil
}

func texts(b *array.RecordBuilder, column int) *array.StringBuilder {
	return b.Field(column).(*array.StringBuilder)
}

// GetFlightInfoCatalogs implements flightsql.Server.
func (s *server) GetFlightInfoCatalogs(_ context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.metadataInfo(d, schema_ref.Catalogs)
}

// DoGetCatalogs implements flightsql.Server.
func (s *server) DoGetCatalogs(context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema_ref.Catalogs)
	texts(b, 0).Append(CatalogName)
	return one(b)
}

// GetFlightInfoTableTypes implements flightsql.Server.
func (s *server) GetFlightInfoTableTypes(_ context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.metadataInfo(d, schema_ref.TableTypes)
}

// DoGetTableTypes implements flightsql.Server.
func (s *server) DoGetTableTypes(context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema_ref.TableTypes)
	texts(b, 0).Append(tableType)
	return one(b)
}

// GetFlightInfoSchemas implements flightsql.Server.
func (s *server) GetFlightInfoSchemas(_ context.Context, _ flightsql.GetDBSchemas, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.metadataInfo(d, schema_ref.DBSchemas)
}

// DoGetDBSchemas implements flightsql.Server.
func (s *server) DoGetDBSchemas(ctx context.Context, q flightsql.GetDBSchemas) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	names, err := s.cat.Namespaces(ctx)
	if err != nil {
		return nil, nil, told(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema_ref.DBSchemas)
	for _, n := range names {
		if ours(q.GetCatalog()) && like(n, q.GetDBSchemaFilterPattern()) {
			texts(b, 0).Append(CatalogName)
			texts(b, 1).Append(n)
		}
	}
	return one(b)
}

// GetFlightInfoTables implements flightsql.Server.
func (s *server) GetFlightInfoTables(_ context.Context, q flightsql.GetTables, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.metadataInfo(d, tablesSchema(q))
}

func tablesSchema(q flightsql.GetTables) *arrow.Schema {
	if q.GetIncludeSchema() {
		return schema_ref.TablesWithIncludedSchema
	}
	return schema_ref.Tables
}

// DoGetTables implements flightsql.Server.
func (s *server) DoGetTables(ctx context.Context, q flightsql.GetTables) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	var names []catalog.Name
	if kinds := q.GetTableTypes(); ours(q.GetCatalog()) && (len(kinds) == 0 || slices.Contains(kinds, tableType)) {
		var err error
		if names, err = s.cat.Tables(ctx, ""); err != nil {
			return nil, nil, told(err)
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, tablesSchema(q))
	for _, n := range names {
		if !like(n.Namespace, q.GetDBSchemaFilterPattern()) || !like(n.Table, q.GetTableNameFilterPattern()) {
			continue
		}
		if q.GetIncludeSchema() {
			t, err := s.cat.Load(ctx, n)
			if err != nil {
				b.Release()
				return nil, nil, told(err)
			}
			types, err := t.ArrowSchema(s.o.TimeUnit)
			if err != nil {
				b.Release()
				return nil, nil, told(err)
			}
			b.Field(4).(*array.BinaryBuilder).Append(flight.SerializeSchema(types, s.Alloc))
		}
		for i, v := range []string{CatalogName, n.Namespace, n.Table, tableType} {
			texts(b, i).Append(v)
		}
	}
	return one(b)
}

// ours reports whether a catalog that is requested is this one; none is any.
func ours(asked *string) bool { return asked == nil || *asked == "" || *asked == CatalogName }

// like matches a pattern of SQL, % for any text and _ for any character; none matches all. Names hold none of what is
// special in path.Match.
func like(name string, pattern *string) bool {
	if pattern == nil || *pattern == "" {
		return true
	}
	glob := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "%", "*", "_", "?").Replace(*pattern)
	matched, err := path.Match(glob, name)
	return err == nil && matched
}
