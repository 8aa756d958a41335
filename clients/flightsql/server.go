package flightsql

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/fairqueue"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/urlresolve"
)

// CatalogName is the one catalog that drivers see; its schemas are the namespaces.
const CatalogName = catalog.CatalogName

// Options of New. The zero value is valid.
type Options struct {
	// Token is the bearer token without which nothing is answered. If it is empty, only this machine is answered.
	Token string
	// SplitSize is how many stored bytes an endpoint covers, catalog.DefaultSplitSize if 0.
	SplitSize int64
	// TimeUnit of times that no Arrow schema of the table gives a unit: ns (also if empty), us, ms or s.
	TimeUnit string
	// Answers is how many streams of rows are given at a time, DefaultAnswers if 0. Others wait in line, where
	// clients take turns, for Patience (DefaultPatience if 0), and are then RESOURCE_EXHAUSTED.
	Answers  int
	Patience time.Duration
	// MaxMemory is what the values of all streams together may take, in bytes, shardfmt.DefaultMaxMemory if 0.
	MaxMemory int64
	// Stall is the longest time that a client may take over a message of some 2 MiB, DefaultStall if 0. One that takes longer is shed: its
	// stream ends with DEADLINE_EXCEEDED.
	Stall time.Duration
}

// What Options are if they are left out.
const (
	DefaultAnswers  = 16
	DefaultPatience = 5 * time.Second
	DefaultStall    = 30 * time.Second
)

// server answers the calls of Flight SQL.
type server struct {
	flightsql.BaseServer
	cat *catalog.Catalog
	o   Options
	// slots are those of streams, plans those of queries being planned, which need not wait for streams.
	slots, plans *fairqueue.Places
}

// New makes a gRPC server over a catalog; options determine how it is reached, by TLS for one.
func New(c *catalog.Catalog, o Options, options ...grpc.ServerOption) (*grpc.Server, error) {
	o.Answers = cmp.Or(o.Answers, DefaultAnswers)
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	o.MaxMemory = cmp.Or(o.MaxMemory, shardfmt.DefaultMaxMemory)
	o.Stall = cmp.Or(o.Stall, DefaultStall)
	places := func() *fairqueue.Places { return fairqueue.New(o.Answers, o.Answers*lineFactor, o.Patience) }
	s := &server{cat: c, o: o, slots: places(), plans: places()}
	s.Alloc = memory.DefaultAllocator
	for id, value := range map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName:     "shardcat",
		flightsql.SqlInfoFlightSqlServerReadOnly: true,
		flightsql.SqlInfoFlightSqlServerSql:      true,
		flightsql.SqlInfoIdentifierQuoteChar:     `"`,
	} {
		if err := s.RegisterSqlInfo(id, value); err != nil {
			return nil, err
		}
	}
	guard := guard{token: o.Token, stall: o.Stall}
	options = append(options, grpc.MaxConcurrentStreams(streamsOfConnection), grpc.UnaryInterceptor(guard.unary), grpc.StreamInterceptor(guard.stream))
	out := grpc.NewServer(options...)
	flight.RegisterFlightServiceServer(out, flightsql.NewFlightServer(s))
	return out, nil
}

// streamsOfConnection bounds what one connection can request at a time; clients wait with the rest.
const streamsOfConnection = 100

// lineFactor bounds the line of those who wait: more than that many answers ahead of one would take longer than anybody waits.
const lineFactor = 8

// take waits for a turn to give rows, or to plan; clients, by their addresses, take turns.
func (s *server) take(ctx context.Context, places *fairqueue.Places) (release func(), err error) {
	client := ""
	if p, ok := peer.FromContext(ctx); ok {
		client, _, _ = net.SplitHostPort(p.Addr.String())
	}
	release, err = places.Take(ctx, client)
	if errors.Is(err, fairqueue.ErrBusy) {
		return nil, status.Error(codes.ResourceExhausted, "server busy: all response slots are in use; retry later")
	}
	return release, err
}

// classes are the codes of errors, the first that fits.
var classes = []struct {
	err  error
	code codes.Code
}{
	{context.Canceled, codes.Canceled},
	{context.DeadlineExceeded, codes.DeadlineExceeded},
	{catalog.ErrInvalid, codes.InvalidArgument},
	{urlresolve.ErrRefused, codes.PermissionDenied},
	{catalog.ErrConflict, codes.FailedPrecondition},
	{catalog.ErrNotFound, codes.NotFound},
	{blobio.ErrNotFound, codes.NotFound},
	{corrupt.ErrUnsupported, codes.Unimplemented},
	{corrupt.ErrCorrupt, codes.DataLoss},
	{blobio.ErrDamaged, codes.DataLoss},
}

// told gives an error the code that drivers act on.
func told(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return status.Error(c.code, err.Error())
		}
	}
	if errors.As(err, new(*arrowtype.RowError)) {
		return status.Error(codes.OutOfRange, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
