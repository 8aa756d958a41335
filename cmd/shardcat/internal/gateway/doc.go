// Package gateway serves tables of shards to Iceberg engines: the read side of Iceberg's REST catalog, and an S3-compatible read endpoint
// with the tables' metadata and data files as package view makes them.
//
//	GET  /iceberg/v1/config                                     how to use the catalog
//	POST /iceberg/v1/oauth/tokens                               a token for the read token of the server
//	GET  /iceberg/v1/namespaces[/NAMESPACE[/tables[/TABLE]]]    names and tables; HEAD: whether they exist
//	GET  /iceberg/v1/namespaces/NAMESPACE/tables/TABLE/credentials
//	GET  /BUCKET/TABLE-UUID/NAME                                an object, or a range of it; signed by credentials of the table
//
// All state is in the catalog. Tokens, credentials and names of objects follow from one secret, so any number of replicas serves one
// client.
package gateway
