// Package storekill holds a test that kills the process of an object store while a table is written to; it has no code of its own.
package storekill
