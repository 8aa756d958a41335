// Command shardcat-temporal runs the compactions of a catalog on Temporal.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	_ "github.com/shardcat/shardcat/blobio/azblob"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/temporal"
)

// apiKeyEnv names the variable that holds the key for Temporal's API; such keys are secrets.
const apiKeyEnv = "TEMPORAL_API_KEY"

// settings are the flags of all commands.
type settings struct {
	catalog                   catalog.Options
	address, namespace, queue string
	log                       *slog.Logger
}

// release is set by the linker where a release is built (deploy/release).
var release = "(devel)"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "shardcat-temporal:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	s := &settings{log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	root := &cobra.Command{
		Use:   "shardcat-temporal",
		Short: "Compact the tables of a catalog on Temporal: workers, and a schedule per table",
		Long: "Compact the tables of a catalog on Temporal: workers, and a schedule per table. Policies are those of `shardcat policy`. " +
			"The key for Temporal's API is read from " + apiKeyEnv + ", if that is set.",
		Version:      release,
		SilenceUsage: true, SilenceErrors: true,
	}
	f := root.PersistentFlags()
	f.StringVar(&s.catalog.URI, "catalog", os.Getenv("SHARDCAT_CATALOG"), "Iceberg catalog: sqlite:PATH, postgres://…, rest+https://… (default "+catalog.DefaultURI+")")
	f.StringVar(&s.catalog.Warehouse, "warehouse", os.Getenv("SHARDCAT_WAREHOUSE"), "folder or URL of the tables' metadata (default "+catalog.DefaultWarehouse+")")
	f.StringVar(&s.catalog.Vault, "vault", os.Getenv("SHARDCAT_VAULT"), "folder or URL of shards (default <warehouse>/vault)")
	f.StringVar(&s.address, "address", client.DefaultHostPort, "Temporal's frontend")
	f.StringVar(&s.namespace, "namespace", client.DefaultNamespace, "Temporal's namespace")
	f.StringVar(&s.queue, "queue", temporal.DefaultQueue, "prefix of the names of the task queues")
	root.AddCommand(s.workerCommand(), s.scheduleCommand(), s.runCommand())
	return root
}

// open connects to Temporal and opens the catalog; close ends both.
func (s *settings) open(ctx context.Context) (c client.Client, tables *catalog.Catalog, closeAll func(), err error) {
	o := client.Options{HostPort: s.address, Namespace: s.namespace, Logger: sdklog.NewStructuredLogger(s.log)}
	if key := os.Getenv(apiKeyEnv); key != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	if c, err = client.DialContext(ctx, o); err != nil {
		return nil, nil, nil, fmt.Errorf("--address %s: %w", s.address, err)
	}
	if tables, err = catalog.Open(ctx, s.catalog); err != nil {
		c.Close()
		return nil, nil, nil, err
	}
	return c, tables, func() { tables.Close(); c.Close() }, nil
}
