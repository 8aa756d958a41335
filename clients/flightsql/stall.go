package flightsql

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// steady is a stream whose client must take each message within a time. One that does not is shed: its call ends, with all that it
// holds but the message that the transport has, which goes with the connection.
type steady struct {
	grpc.ServerStream
	stall time.Duration
}

// SendMsg implements grpc.ServerStream. Where the client's window has no space it waits in the transport, which only the end of the call ends.
func (s *steady) SendMsg(m any) error {
	sent := make(chan error, 1)
	go func() { sent <- s.ServerStream.SendMsg(m) }()
	timer := time.NewTimer(s.stall)
	defer timer.Stop()
	select {
	case err := <-sent:
		return err
	case <-timer.C:
		return status.Errorf(codes.DeadlineExceeded, "the client read nothing for %s: rows are missing", s.stall)
	}
}
