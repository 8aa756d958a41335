package simulation

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
)

// ground is a catalog, and the store of its tables. Another process opens it by what it states.
type ground struct {
	Name, URI string
	// Warehouse and Vault may be on an object store: a URL with its options then.
	Warehouse, Vault string
}

// grounds are those that there are: SHARDCAT_POSTGRES (.ci/postgres) names a database, SHARDCAT_REST and SHARDCAT_REST_WAREHOUSE
// a server of Iceberg's REST protocol and its folder (.ci/rest), SHARDCAT_TEST_S3 a bucket (.ci/servers). The REST server
// writes the metadata itself, to its folder; with SHARDCAT_FULL set, shards of its tables lie in the bucket too, and tables
// of the database.
func grounds(t *testing.T) []*ground {
	t.Helper()
	dir := t.TempDir()
	local := func(name string) string { return "file://" + filepath.ToSlash(filepath.Join(dir, name)) }
	sqlite := func(name string) string { return "sqlite:" + filepath.Join(dir, name+".db") }
	out := []*ground{{"sqlite on files", sqlite("files"), local("files"), ""}}
	postgres, rest, s3 := os.Getenv("SHARDCAT_POSTGRES"), os.Getenv("SHARDCAT_REST"), os.Getenv("SHARDCAT_TEST_S3")
	if postgres != "" {
		out = append(out, &ground{"postgres on files", postgres, local("postgres"), ""})
	} else {
		t.Log("SHARDCAT_POSTGRES names no database: nobody is killed on PostgreSQL")
	}
	if rest != "" {
		out = append(out, &ground{"rest on files", rest, os.Getenv("SHARDCAT_REST_WAREHOUSE"), local("rest")})
	} else {
		t.Log("SHARDCAT_REST names no server: nobody is killed on a REST catalog")
	}
	if s3 == "" {
		t.Log("SHARDCAT_TEST_S3 names no bucket: nobody is killed on S3")
		return out
	}
	at, err := url.Parse(s3)
	if err != nil {
		t.Fatal("SHARDCAT_TEST_S3 is not a URL")
	}
	in := func(folder string) string { return at.JoinPath("killed", uuid.NewString(), folder).String() }
	out = append(out, &ground{"sqlite on s3", sqlite("s3"), in("warehouse"), ""})
	if os.Getenv("SHARDCAT_FULL") == "" {
		return out
	}
	if postgres != "" {
		out = append(out, &ground{"postgres on s3", postgres, in("warehouse"), ""})
	}
	if rest != "" {
		out = append(out, &ground{"rest on s3", rest, os.Getenv("SHARDCAT_REST_WAREHOUSE"), in("vault")})
	}
	return out
}

// open opens the catalog behind a killer, the stores too.
func (g *ground) open(killer *crashtest.Killer) (*catalog.Catalog, error) {
	o := catalog.Options{
		URI: g.URI, Warehouse: g.Warehouse, Vault: g.Vault, Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}),
	}
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog {
		return shared.Wrap(&crashtest.Catalog{Catalog: c, Killer: killer})
	})
	for _, at := range []*string{&o.Warehouse, &o.Vault} {
		root, canonical, bucket, err := openStore(*at)
		if err != nil {
			return nil, err
		}
		for _, c := range []*blobio.Client{o.Client, o.Metadata} {
			if err := c.MountBucket(root, &crashtest.Bucket{Bucket: bucket, Killer: killer}); err != nil {
				return nil, err
			}
		}
		*at = canonical
	}
	return catalog.Open(context.Background(), o)
}

// openStore opens the bucket of a location: its root, and the location without the bucket's options. None is the root of all files.
func openStore(at string) (root, canonical string, bucket blobio.Bucket, err error) {
	if !strings.HasPrefix(at, "s3://") {
		return "file:///", at, fileblob.Open("/"), nil
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	if canonical, err = client.Mount(context.Background(), at); err != nil {
		return "", "", nil, err
	}
	u, err := url.Parse(canonical)
	if err != nil {
		return "", "", nil, err
	}
	bucket, err = client.Bucket(context.Background(), canonical)
	return "s3://" + u.Host + "/", canonical, bucket, err
}
