package flightsql

import (
	"context"
	"encoding/json"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// ticketVersion is that of the form of tickets. A server refuses versions that it does not know.
const ticketVersion = 1

// ticket is all that an endpoint takes to be read: a task, or, for a query with a limit, the query and the snapshot.
type ticket struct {
	Version  int           `json:"version"`
	Task     *catalog.Task `json:"task,omitempty"`
	Query    string        `json:"query,omitempty"`
	Snapshot int64         `json:"snapshot_id,omitempty"`
}

// planned is a query with its plan.
type planned struct {
	query  *query
	table  *catalog.Table
	plan   *catalog.Plan
	schema *arrow.Schema
}

// planOf plans a query at a snapshot, the newest if that is 0.
func (s *server) planOf(ctx context.Context, text string, snapshot int64, limited bool) (*planned, error) {
	q, err := parse(text)
	if err != nil {
		return nil, err
	}
	return s.planQuery(ctx, q, snapshot, limited)
}

// planQuery is planOf for a query that was read.
func (s *server) planQuery(ctx context.Context, q *query, snapshot int64, limited bool) (_ *planned, err error) {
	o := catalog.ScanOptions{Select: q.columns, Ordered: true}
	o.SnapshotID = snapshot
	switch {
	case !limited || q.limit == nil:
	case *q.limit == 0:
		o.Limit = catalog.NoRows
	default:
		o.Limit = *q.limit
	}
	if q.where != "" {
		if o.Where, err = filter.Parse(q.where); err != nil {
			return nil, err
		}
	}
	t, err := s.cat.Load(ctx, q.table)
	if err != nil {
		return nil, err
	}
	p, err := t.Plan(ctx, o)
	if err != nil {
		return nil, err
	}
	types, err := s.types(ctx, p)
	return &planned{q, t, p, types}, err
}

// types is the schema of a plan's rows, of which none is read for it.
func (s *server) types(ctx context.Context, p *catalog.Plan) (*arrow.Schema, error) {
	r, err := p.Reader(ctx, catalog.ReadOptions{TimeUnit: s.o.TimeUnit})
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return r.Schema(), nil
}

// info plans a query and gives an endpoint for each task; a limit holds for all rows together and makes one endpoint.
func (s *server) info(ctx context.Context, text string, descriptor *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	release, err := s.take(ctx, s.plans)
	if err != nil {
		return nil, err
	}
	defer release()
	p, err := s.planOf(ctx, text, 0, false)
	if err != nil {
		return nil, err
	}
	size := s.o.SplitSize
	if p.query.limit != nil {
		size = math.MaxInt64 // nothing is cut, so no shard is opened
	}
	tasks, err := p.plan.Tasks(ctx, size)
	if err != nil {
		return nil, err
	}
	tickets := []ticket{{Version: ticketVersion, Query: text, Snapshot: tasks.SnapshotID}}
	if p.query.limit == nil && len(tasks.Tasks) > 0 {
		tickets = tickets[:0]
		for i := range tasks.Tasks {
			tickets = append(tickets, ticket{Version: ticketVersion, Task: &tasks.Tasks[i]})
		}
	}
	out := &flight.FlightInfo{FlightDescriptor: descriptor, TotalRecords: -1, TotalBytes: -1, Schema: flight.SerializeSchema(p.schema, s.Alloc)}
	for _, t := range tickets {
		text, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		wrapped, err := flightsql.CreateStatementQueryTicket(text)
		if err != nil {
			return nil, err
		}
		out.Endpoint = append(out.Endpoint, &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: wrapped}})
	}
	return out, nil
}

// GetFlightInfoStatement implements flightsql.Server.
func (s *server) GetFlightInfoStatement(ctx context.Context, q flightsql.StatementQuery, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	out, err := s.info(ctx, q.GetQuery(), d)
	return out, told(err)
}

// GetSchemaStatement implements flightsql.Server.
func (s *server) GetSchemaStatement(ctx context.Context, q flightsql.StatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	p, err := s.planOf(ctx, q.GetQuery(), 0, false)
	if err != nil {
		return nil, told(err)
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(p.schema, s.Alloc)}, nil
}

// DoGetStatement implements flightsql.Server.
func (s *server) DoGetStatement(ctx context.Context, t flightsql.StatementQueryTicket) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	p, err := s.planOfTicket(ctx, t.GetStatementHandle())
	if err != nil {
		return nil, nil, told(err)
	}
	types, chunks, err := s.rows(ctx, p)
	return types, chunks, told(err)
}

// planOfTicket plans what a ticket names. Tickets come from clients, so they are held to what their table allows.
func (s *server) planOfTicket(ctx context.Context, text []byte) (*catalog.Plan, error) {
	var t ticket
	if err := json.Unmarshal(text, &t); err != nil || t.Version != ticketVersion || (t.Task == nil) == (t.Query == "") {
		return nil, status.Error(codes.InvalidArgument, "not a ticket of this server, or one of another version")
	}
	if t.Task == nil {
		p, err := s.planOf(ctx, t.Query, t.Snapshot, true)
		if err != nil {
			return nil, err
		}
		return p.plan, nil
	}
	name, err := catalog.ParseName(t.Task.Table)
	if err != nil {
		return nil, err
	}
	table, err := s.cat.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	return table.PlanTask(t.Task)
}
