// Package view gives memory as values of another type without copying. With the build tag checked, which tests in
// continuous integration set, every view is compared with the memory it is of.
package view
