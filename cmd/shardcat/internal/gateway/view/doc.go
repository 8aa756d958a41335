// Package view rewrites the metadata of a table of shards, on demand, as those of an Iceberg table of Parquet files: table metadata, manifest
// lists and manifests. Data files are shards as package vparquet shows them, deleted rows are position deletes. Nothing is stored; an
// object's name reports what it is made of, so any replica makes the same bytes.
package view
