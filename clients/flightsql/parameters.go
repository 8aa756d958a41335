package flightsql

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/halffloat"
)

// statementVersion is that of the form of handles.
const statementVersion = 1

// statement is a prepared statement. Its handle is all of it, so that nothing is kept, and any server knows it: binding values gives
// another handle.
type statement struct {
	Version int    `json:"version"`
	Query   string `json:"query"`
	// Values of the parameters, as they stand in an expression; nil before they are bound.
	Values []string `json:"values,omitempty"`
}

func (s *statement) handle() ([]byte, error) { return json.Marshal(s) }

func parseHandle(handle []byte) (*statement, error) {
	var s statement
	if err := json.Unmarshal(handle, &s); err != nil || s.Version != statementVersion {
		return nil, status.Error(codes.InvalidArgument, "not a prepared statement of this server, or one of another version")
	}
	return &s, nil
}

// bound is the query with its values in the places of the parameters.
func (s *statement) bound() (string, error) {
	places, err := parametersOf(s.Query)
	if err != nil {
		return "", err
	}
	if len(places) != len(s.Values) {
		return "", fmt.Errorf("%w: the query has %d parameters, %d values are bound", catalog.ErrInvalid, len(places), len(s.Values))
	}
	return fill(s.Query, places, func(i int) string { return s.Values[i] }), nil
}

// parameter is a question mark of a query.
type parameter struct {
	// at is its byte.
	at int
	// limit: it is how many rows are wanted.
	limit bool
	// column is the name that stood before it, "" for none.
	column string
}

// parametersOf finds the question marks of a query, but for those in quotes.
func parametersOf(query string) (out []parameter, err error) {
	tokens, err := scan(query)
	if err != nil {
		return nil, err
	}
	var column string
	for i, t := range tokens {
		switch {
		case t.kind == symbol && t.text == "?":
			limit := i > 0 && tokens[i-1].kind == name && !tokens[i-1].quoted && strings.EqualFold(tokens[i-1].text, "LIMIT")
			out = append(out, parameter{t.at, limit, column})
		case t.kind == name && (t.quoted || !operators[strings.ToUpper(t.text)]):
			column = t.text
		}
	}
	return out, nil
}

// operators are words between a column and its parameters.
var operators = map[string]bool{
	"AND": true, "OR": true, "NOT": true, "IN": true, "BETWEEN": true, "LIKE": true,
	"HAS": true, "HAS_CS": true, "HASPREFIX": true, "HASPREFIX_CS": true, "CONTAINS": true, "CONTAINS_CS": true,
}

// fill puts texts in the places of parameters.
func fill(query string, places []parameter, value func(int) string) string {
	var b strings.Builder
	from := 0
	for i, p := range places {
		b.WriteString(query[from:p.at])
		b.WriteString(value(i))
		from = p.at + 1
	}
	b.WriteString(query[from:])
	return b.String()
}

// prepare checks a query whose values are not known yet, and gives the schemas of its rows and of its parameters, nil if it has none.
func (s *server) prepare(ctx context.Context, text string) (rows, parameters *arrow.Schema, err error) {
	places, err := parametersOf(text)
	if err != nil {
		return nil, nil, err
	}
	if len(places) == 0 {
		p, err := s.planOf(ctx, text, 0, false)
		if err != nil {
			return nil, nil, err
		}
		return p.schema, nil, nil
	}
	// Any values show whether the query can be read; what its rows are does not depend on them.
	q, err := parse(fill(text, places, func(i int) string {
		if places[i].limit {
			return "0"
		}
		return "''"
	}))
	if err != nil {
		return nil, nil, err
	}
	q.where, q.limit = "", nil
	p, err := s.planQuery(ctx, q, 0, false)
	if err != nil {
		return nil, nil, err
	}
	all, err := p.table.ArrowSchema(s.o.TimeUnit)
	if err != nil {
		return nil, nil, err
	}
	var fields []arrow.Field
	for i, place := range places {
		fields = append(fields, arrow.Field{Name: fmt.Sprint(i + 1), Type: place.typeIn(all), Nullable: !place.limit})
	}
	return p.schema, arrow.NewSchema(fields, nil), nil
}

// typeIn is the type in which drivers should send a value; others are taken too.
func (p *parameter) typeIn(table *arrow.Schema) arrow.DataType {
	if p.limit {
		return arrow.PrimitiveTypes.Int64
	}
	if f, ok := table.FieldsByName(p.column); ok {
		return f[0].Type
	}
	return arrow.BinaryTypes.String
}

// CreatePreparedStatement implements flightsql.Server.
func (s *server) CreatePreparedStatement(ctx context.Context, r flightsql.ActionCreatePreparedStatementRequest) (out flightsql.ActionCreatePreparedStatementResult, err error) {
	rows, parameters, err := s.prepare(ctx, r.GetQuery())
	if err != nil {
		return out, told(err)
	}
	prepared := &statement{Version: statementVersion, Query: r.GetQuery()}
	handle, err := prepared.handle()
	return flightsql.ActionCreatePreparedStatementResult{Handle: handle, DatasetSchema: rows, ParameterSchema: parameters, IsUpdate: new(bool)}, told(err)
}

// DoPutPreparedStatementQuery implements flightsql.Server: it binds one row of values, and gives the handle of the statement with them.
func (s *server) DoPutPreparedStatementQuery(_ context.Context, q flightsql.PreparedStatementQuery, r flight.MessageReader, _ flight.MetadataWriter) ([]byte, error) {
	prepared, err := parseHandle(q.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	prepared.Values = nil
	for r.Next() {
		b := r.RecordBatch()
		if b.NumRows() == 0 {
			continue
		}
		if b.NumRows() > 1 || prepared.Values != nil {
			return nil, status.Error(codes.InvalidArgument, "bind one row of values at a time")
		}
		for i, c := range b.Columns() {
			v, err := literal(c, 0)
			if err != nil {
				return nil, told(fmt.Errorf("%w: parameter %d: %w", catalog.ErrInvalid, i+1, err))
			}
			prepared.Values = append(prepared.Values, v)
		}
	}
	if err := r.Err(); err != nil {
		return nil, told(err)
	}
	if _, err := prepared.bound(); err != nil {
		return nil, told(err)
	}
	handle, err := prepared.handle()
	return handle, told(err)
}

// literal is a value as it stands in an expression.
func literal(a arrow.Array, row int) (string, error) {
	if a.IsNull(row) {
		return "NULL", nil
	}
	switch a := a.(type) {
	case array.ExtensionArray:
		return quote(a.ValueStr(row)), nil
	case *array.Boolean:
		return strconv.FormatBool(a.Value(row)), nil
	case *array.Float16:
		return float(float64(halffloat.Float32(a.Value(row).Uint16())))
	case *array.Float32:
		return float(float64(a.Value(row)))
	case *array.Float64:
		return float(a.Value(row))
	case *array.Timestamp:
		return instant(a.Value(row).ToTime(a.DataType().(*arrow.TimestampType).Unit)), nil
	case *array.Date32:
		return instant(a.Value(row).ToTime()), nil
	case *array.Date64:
		return instant(a.Value(row).ToTime()), nil
	case *array.String, *array.LargeString, *array.StringView:
		return quote(a.ValueStr(row)), nil
	}
	if id := a.DataType().ID(); arrow.IsInteger(id) || arrow.IsDecimal(id) {
		return a.ValueStr(row), nil
	}
	return "", fmt.Errorf("a value of type %s; supported are numbers, text, times, booleans and decimals", a.DataType())
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func instant(t time.Time) string { return quote(t.UTC().Format("2006-01-02T15:04:05.9999999Z")) }

func float(v float64) (string, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "", fmt.Errorf("%v can't be compared", v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64), nil
}

// boundQuery is the query of a handle, with its values.
func boundQuery(handle []byte) (string, error) {
	s, err := parseHandle(handle)
	if err != nil {
		return "", err
	}
	return s.bound()
}

// schemaOf is the schema of the rows of a statement, whether or not values are bound.
func (s *server) schemaOf(ctx context.Context, handle []byte) (*arrow.Schema, error) {
	prepared, err := parseHandle(handle)
	if err != nil {
		return nil, err
	}
	rows, _, err := s.prepare(ctx, prepared.Query)
	return rows, err
}

// ClosePreparedStatement implements flightsql.Server.
func (s *server) ClosePreparedStatement(context.Context, flightsql.ActionClosePreparedStatementRequest) error {
	return nil
}

// GetFlightInfoPreparedStatement implements flightsql.Server.
func (s *server) GetFlightInfoPreparedStatement(ctx context.Context, q flightsql.PreparedStatementQuery, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	text, err := boundQuery(q.GetPreparedStatementHandle())
	if err != nil {
		return nil, told(err)
	}
	out, err := s.info(ctx, text, d)
	return out, told(err)
}

// GetSchemaPreparedStatement implements flightsql.Server.
func (s *server) GetSchemaPreparedStatement(ctx context.Context, q flightsql.PreparedStatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	types, err := s.schemaOf(ctx, q.GetPreparedStatementHandle())
	if err != nil {
		return nil, told(err)
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(types, s.Alloc)}, nil
}
