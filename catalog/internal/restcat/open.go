// Package restcat is the client of an Iceberg REST catalog. Requests are iceberg-go's, over a transport that bounds and retries them (resthttp), and with
// storage credentials that the server hands out (vended). Tables come with their metadata and read and write everything else through an IO of the caller;
// the one that iceberg-go would find by scheme is never called. The error of a commit has the class that the server's response proves (commiterr).
package restcat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/catalog/internal/restsettings"
	"github.com/shardcat/shardcat/catalog/internal/vended"
)

// Options of Open.
type Options struct {
	// Name that iceberg-go gives the catalog.
	Name string
	// URI is rest+http(s)://HOST/PATH?SETTINGS.
	URI string
	// Warehouse as the user gave it: a URL, a path, or a name that only the server knows; empty if none was given, and none is sent.
	Warehouse string
	// Location is the canonical URL of the warehouse, empty where only the server knows it.
	Location string
	// Agent names the program in requests, "shardcat" and its version if empty.
	Agent string
	// RequestTimeout and RetryBudget are those of resthttp.Transport.
	RequestTimeout, RetryBudget time.Duration
	// MaxMemory bounds the response with the metadata of a table.
	MaxMemory int64
	// Now is the clock by which credentials end.
	Now func() time.Time
	// Log takes the begin and the end of outages.
	Log *slog.Logger
}

// Open connects to a catalog; the tables need an IO before use (UseIO). It takes secrets from the environment (see docs/guides/catalogs.md), and with
// rest.sigv4-enabled=true what the AWS SDK finds.
func Open(ctx context.Context, o Options) (*Tables, error) {
	identity := caturi.Redact(o.URI)
	base, query, _ := strings.Cut(o.URI, "?")
	settings, err := restsettings.Parse(query)
	if err != nil {
		return nil, fmt.Errorf("%w: catalog %s: %w", caterr.ErrInvalid, caturi.Redact(base), err)
	}
	below, err := settings.Transport(strings.TrimPrefix(base, "rest+"))
	headers, headersErr := settings.Headers()
	if err = errors.Join(err, headersErr); err != nil {
		return nil, fmt.Errorf("catalog %s: %w", identity, err)
	}
	below.Agent, below.Timeout, below.Budget, below.MaxMemory = userAgent(o.Agent), o.RequestTimeout, o.RetryBudget, o.MaxMemory
	below.Waiting, below.Recovered = resthttp.OutageLog(o.Log, caturi.Redact(base))
	keys := vended.New(below, !caturi.IsWarehouseName(o.Warehouse), o.Now)
	props := iceberg.Properties{}
	if o.Location != "" {
		props["warehouse"] = o.Location
	}
	// Headers belong to the catalog alone: a token endpoint may be another's. They are signed where requests are.
	opts := []rest.Option{rest.WithAdditionalProps(props), rest.WithCustomTransport(&commitWatch{keys}), rest.WithHeaders(headers)}
	if o.Warehouse != "" {
		if sent := caturi.WarehouseForServer(o.Warehouse, o.Location); sent != "" {
			opts = append(opts, rest.WithWarehouseLocation(sent))
		}
	}
	if prefix := settings.Prefix(); prefix != "" {
		opts = append(opts, rest.WithPrefix(prefix))
	}
	if below.Signed {
		signer, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // iceberg-go's own would log to stderr
		if err != nil {
			return nil, fmt.Errorf("catalog %s: %w", identity, err)
		}
		opts = append(opts, rest.WithSigV4RegionSvc(settings.SigningPlace(below.Catalog)), rest.WithAwsConfig(signer))
	}
	ice, err := rest.NewCatalog(ctx, o.Name, below.Catalog.String(), opts...)
	if err != nil {
		below.CloseIdleConnections()
		if commiterr.IsOutage(err) || errors.Is(err, resthttp.ErrTimeout) || errors.Is(err, rest.ErrServiceUnavailable) || errors.Is(err, rest.ErrServerError) {
			err = errors.Join(caterr.ErrUnreachable, err)
		}
		return nil, fmt.Errorf("catalog %s: %w", identity, err)
	}
	closer := func() error {
		err := ice.Close()
		below.CloseIdleConnections()
		return err
	}
	return &Tables{Catalog: ice, rest: ice, keys: keys, closer: closer}, nil
}

// userAgent names the program and its version.
func userAgent(agent string) string {
	if agent != "" {
		return agent
	}
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/shardcat/shardcat" && m.Version != "" {
				version = strings.Trim(m.Version, "()")
			}
		}
	}
	return "shardcat/" + version
}
