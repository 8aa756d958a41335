// Package docscheck holds docs/features.md to the tree; it has no code of its own.
package docscheck
