// Package archtest holds the tests of the order of packages; it has no code of its own.
package archtest
