// Package tablelife compares tables with a model in Go over random lives: schemas, partitions, orders, indexes and histories of all
// operations, with values at the ends of their types. It is tests only.
package tablelife
