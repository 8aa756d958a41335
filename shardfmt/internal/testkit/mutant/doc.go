// Package mutant makes hostile shards of whole ones: it flips, cuts, swaps and exchanges bytes, and it changes metadata,
// blocks, maps, dictionaries and range indexes and makes every checksum right again, so that what is wrong is only found by
// looking at what the bytes mean.
//
// A mutant is a function of its shard and of a source of random numbers, so that a seed brings it back.
package mutant
