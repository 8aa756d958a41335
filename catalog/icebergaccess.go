package catalog

import (
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/internal/icebergaccess"
)

func init() {
	icebergaccess.MetadataOf = func(t any) table.Metadata { return t.(*Table).ice.Metadata() }
	icebergaccess.WaitingAppends = func(c any) int { return c.(*Catalog).groups.queued() }
	icebergaccess.Wrap = func(o any, wrap func(icecatalog.Catalog) icecatalog.Catalog) { o.(*Options).wrap = wrap }
}
