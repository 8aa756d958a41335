package flightsql

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/internal/parallel"
)

// guard lets those through who have the token; where there is none, this machine, and who has shown a certificate that
// the server requested and found good. What panics behind it ends its own call alone.
type guard struct {
	token string
	stall time.Duration
}

func (g guard) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := g.check(ctx); err != nil {
		return nil, err
	}
	var answer any
	err := parallel.Guarded(func() (err error) {
		answer, err = next(ctx, request)
		return err
	})
	return answer, told(err)
}

func (g guard) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := g.check(stream.Context()); err != nil {
		return err
	}
	return told(parallel.Guarded(func() error { return next(srv, &steady{stream, g.stall}) }))
}

func (g guard) check(ctx context.Context) error {
	if g.token == "" {
		if known(ctx) {
			return nil
		}
		return status.Error(codes.PermissionDenied, "the server has no token for reading, so it accepts only local requests: set SHARDCAT_READ_TOKEN where it runs")
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	want := sha256.Sum256([]byte(g.token))
	for _, header := range headers.Get("authorization") {
		scheme, given, _ := strings.Cut(header, " ")
		got := sha256.Sum256([]byte(given))
		if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], got[:]) == 1 {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "missing or wrong token: send authorization: Bearer with the value of SHARDCAT_READ_TOKEN")
}

// known reports whether a peer is on this machine and no proxy, or has a verified certificate.
func known(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	if tls, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(tls.State.VerifiedChains) > 0 {
		return true
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	for name := range headers {
		if access.ProxyHeader(name) {
			return false
		}
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}
