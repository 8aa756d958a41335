// Command shardcat-flight serves the tables of a catalog as Arrow Flight SQL.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	_ "github.com/shardcat/shardcat/blobio/azblob"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/clients/flightsql"
)

// tokenEnv names the variable that holds the token for reading.
const tokenEnv = "SHARDCAT_READ_TOKEN"

// settings are the flags.
type settings struct {
	catalog              catalog.Options
	listen               string
	cert, key, clientCAs string
	rows                 flightsql.Options
	// listening receives the address.
	listening func(net.Addr)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, flags()); err != nil {
		fmt.Fprintln(os.Stderr, "shardcat-flight:", err)
		os.Exit(1)
	}
}

func flags() *settings {
	s := &settings{rows: flightsql.Options{Token: os.Getenv(tokenEnv)}, listening: func(a net.Addr) { fmt.Println("listening on", a) }}
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Serve the tables of a catalog as Arrow Flight SQL. Reading needs the token in %s, if that is set.\n\n", tokenEnv)
		flag.PrintDefaults()
	}
	flag.StringVar(&s.catalog.URI, "catalog", os.Getenv("SHARDCAT_CATALOG"), "Iceberg catalog: sqlite:PATH, postgres://…, rest+https://… (default: "+catalog.DefaultURI+")")
	flag.StringVar(&s.catalog.Warehouse, "warehouse", os.Getenv("SHARDCAT_WAREHOUSE"), "folder or URL of the tables' metadata (default: "+catalog.DefaultWarehouse+")")
	flag.StringVar(&s.catalog.Vault, "vault", os.Getenv("SHARDCAT_VAULT"), "folder or URL of shards (default: <warehouse>/vault)")
	flag.StringVar(&s.listen, "listen", "127.0.0.1:8815", "address; port 0 takes any that is free")
	flag.StringVar(&s.cert, "tls-cert", "", "PEM file of the server's certificate chain (default: no TLS)")
	flag.StringVar(&s.key, "tls-key", "", "PEM file of its key")
	flag.StringVar(&s.clientCAs, "client-ca", "", "PEM file of authorities: clients must show a certificate of one (default: no client certificates)")
	flag.Int64Var(&s.rows.SplitSize, "split-size", catalog.DefaultSplitSize, "target size of an endpoint in stored bytes")
	flag.StringVar(&s.rows.TimeUnit, "time-unit", "ns", "time unit of columns without an Arrow type: ns, us, ms or s")
	flag.IntVar(&s.rows.Answers, "answers", flightsql.DefaultAnswers, "maximum number of concurrent streams of rows; further requests queue")
	flag.DurationVar(&s.rows.Stall, "stall", flightsql.DefaultStall, "timeout of a client for a message of about 2 MiB")
	flag.Int64Var(&s.rows.MaxMemory, "max-memory", 1<<30, "memory for decoded values of all streams, in bytes")
	flag.Parse()
	s.catalog.Access = catalog.ReadOnly
	return s
}

func run(ctx context.Context, s *settings) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flag.Arg(0))
	}
	options, err := s.transport()
	if err != nil {
		return err
	}
	c, err := catalog.Open(ctx, s.catalog)
	if err != nil {
		return err
	}
	defer c.Close()
	server, err := flightsql.New(c, s.rows, options...)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	s.listening(listener.Addr())
	go func() {
		<-ctx.Done()
		timer := time.AfterFunc(shutdownGrace, server.Stop)
		defer timer.Stop()
		server.GracefulStop()
	}()
	if err := server.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // told to end before it began
}

// shutdownGrace is how long streams that are under way may take once the server is stopped.
const shutdownGrace = 10 * time.Second

// transport is TLS as the flags say, with certificates of clients if authorities for them are given.
func (s *settings) transport() ([]grpc.ServerOption, error) {
	if s.cert == "" && s.key == "" && s.clientCAs == "" {
		return nil, nil
	}
	if s.cert == "" || s.key == "" {
		return nil, errors.New("--tls-cert and --tls-key must be set together")
	}
	pair, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if s.clientCAs != "" {
		text, err := os.ReadFile(s.clientCAs)
		if err != nil {
			return nil, err
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", s.clientCAs)
		}
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(config))}, nil
}
