package shardfmt

import (
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Root is the shard's metadata.
func (s *Shard) Root() *meta.Root { return s.root }

// RawProperties are properties of any kind of value.
func RawProperties(pairs ...*metapb.NameValuePair) []Property { return propertyList(pairs) }

// RawBags are both lists of them.
func RawBags(b meta.Bags) Properties { return propertiesOf(b) }
