//go:build pin

// Package pin names the dependencies that rooms still under construction will import.
package pin

import (
 _ "gocloud.dev/blob"
 _ "gocloud.dev/blob/s3blob"
 _ "gocloud.dev/blob/azureblob"
 _ "gocloud.dev/blob/gcsblob"
 _ "github.com/apache/iceberg-go/catalog/sql"
 _ "github.com/apache/iceberg-go/catalog/rest"
 _ "github.com/apache/iceberg-go/table"
 _ "github.com/apache/arrow-go/v18/parquet/pqarrow"
 _ "github.com/apache/arrow-go/v18/arrow/ipc"
 _ "google.golang.org/protobuf/proto"
 _ "github.com/google/flatbuffers/go"
 _ "github.com/zeebo/xxh3"
 _ "github.com/hashicorp/go-retryablehttp"
 _ "github.com/klauspost/compress/zstd"
 _ "github.com/pierrec/lz4/v4"
 _ "github.com/RoaringBitmap/roaring/v2"
 _ "modernc.org/sqlite"
 _ "github.com/spf13/cobra"
 _ "github.com/prometheus/client_golang/prometheus"
 _ "github.com/rogpeppe/go-internal/testscript"
 _ "github.com/cockroachdb/datadriven"
 _ "github.com/jackc/pgx/v5/stdlib"
 _ "gopkg.in/yaml.v3"
 _ "golang.org/x/sync/errgroup"
 _ "golang.org/x/time/rate"
 _ "github.com/google/uuid"
)
