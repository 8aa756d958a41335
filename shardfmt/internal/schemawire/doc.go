// Package schemawire reads and writes a schema as the root of a shard holds it: a FlatBuffers table of which a reader takes the fields that
// it needs, by the lookup tables over their names, and trusts none of the offsets. It also knows the wire form of the book's draft.
package schemawire
