package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/catalog/internal/restsettings"
	"github.com/shardcat/shardcat/catalog/internal/vended"
)

// openREST takes secrets from the environment (see docs/guides/catalogs.md), and with rest.sigv4-enabled=true what the AWS SDK finds.
func openREST(ctx context.Context, o Options, props iceberg.Properties) (icecatalog.Catalog, string, func() error, *vended.Keys, error) {
	identity := caturi.Redact(o.URI)
	base, query, _ := strings.Cut(o.URI, "?")
	settings, err := restsettings.Parse(query)
	if err != nil {
		return nil, "", nil, nil, fmt.Errorf("%w: catalog %s: %w", ErrInvalid, caturi.Redact(base), err)
	}
	below, err := settings.Transport(strings.TrimPrefix(base, "rest+"))
	headers, headersErr := settings.Headers()
	if err = errors.Join(err, headersErr); err != nil {
		return nil, "", nil, nil, fmt.Errorf("catalog %s: %w", identity, err)
	}
	below.Agent, below.Timeout, below.Budget, below.MaxMemory = userAgent(o.Agent), o.RequestTimeout, o.RetryBudget, o.metadataMemory()
	below.Waiting, below.Recovered = outageLog(o.Log, caturi.Redact(base))
	keys := vended.New(below, !caturi.IsWarehouseName(o.Warehouse), o.Now)
	// Headers belong to the catalog alone: a token endpoint may be another's. They are signed where requests are.
	opts := []rest.Option{rest.WithAdditionalProps(props), rest.WithCustomTransport(&commitWatch{keys}), rest.WithHeaders(headers)}
	if warehouse := caturi.WarehouseForServer(o.Warehouse, props["warehouse"]); warehouse != "" && !o.unnamed {
		opts = append(opts, rest.WithWarehouseLocation(warehouse))
	}
	if prefix := settings.Prefix(); prefix != "" {
		opts = append(opts, rest.WithPrefix(prefix))
	}
	if below.Signed {
		signer, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // iceberg-go's own would log to stderr
		if err != nil {
			return nil, "", nil, nil, fmt.Errorf("catalog %s: %w", identity, err)
		}
		opts = append(opts, rest.WithSigV4RegionSvc(settings.SigningPlace(below.Catalog)), rest.WithAwsConfig(signer))
	}
	ice, err := rest.NewCatalog(ctx, CatalogName, below.Catalog.String(), opts...)
	if err != nil {
		below.CloseIdleConnections()
		if commiterr.IsOutage(err) || errors.Is(err, resthttp.ErrTimeout) || errors.Is(err, rest.ErrServiceUnavailable) || errors.Is(err, rest.ErrServerError) {
			err = errors.Join(ErrUnreachable, err)
		}
		return nil, "", nil, nil, fmt.Errorf("catalog %s: %w", identity, err)
	}
	closer := func() error {
		err := ice.Close()
		below.CloseIdleConnections()
		return err
	}
	return ice, identity, closer, keys, nil
}

// outageLog reports the begin and the end of an outage of a catalog.
func outageLog(log *slog.Logger, identity string) (begin func(error, time.Time), end func(time.Duration)) {
	if log == nil {
		return nil, nil
	}
	begin = func(cause error, until time.Time) {
		log.Warn("the catalog is unreachable; retrying", "catalog", identity, "error", cause.Error(), "for", time.Until(until).Round(time.Second).String())
	}
	return begin, func(outage time.Duration) {
		log.Info("the catalog is reachable again", "catalog", identity, "outage", outage.Round(100*time.Millisecond).String())
	}
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
