// Package formattest makes the test vectors of the format, docs/format/vectors: encoded blocks and other pieces of a shard as
// bytes, with what they hold. They come from this implementation's own encoders, requested one encoding after another; the
// tests compare what is committed with what is made, and read every vector back. clients/python/amudai reads them too.
//
// The numbers in them are text, so that no reader of JSON rounds them: integers are decimal, floats the hexadecimal digits of
// their bits, byte strings hexadecimal bytes; null is null.
package formattest

//go:generate go run ./generate ../../../../docs/format/vectors
