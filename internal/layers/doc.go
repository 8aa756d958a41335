// Package layers holds the tests of the order of the house; it has no code of its own.
package layers
