// Package icebergaccess lets packages of this module reach the Iceberg library's side of a catalog, so that no type of that library is part of the
// public API. Package catalog sets the functions.
package icebergaccess

import (
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

var (
	// MetadataOf is the Iceberg metadata of t, a *catalog.Table.
	MetadataOf func(t any) table.Metadata
	// Wrap makes catalogs that are opened with o, a *catalog.Options, put something between package catalog and the Iceberg catalog, such as faults in
	// tests. Writers of a wrapped catalog don't queue; they pause between attempts.
	Wrap func(o any, wrap func(catalog.Catalog) catalog.Catalog)
	// WaitingAppends is how many appends of c, a *catalog.Catalog, wait for a commit that they don't take part in, to be committed together.
	WaitingAppends func(c any) int
)
