// Package keyindex is the key index of a table: layer files in which the keys of many shards lie sorted, and the state that reports which rows they are
// of. It reads and writes these files, looks keys up in them and answers questions of filters by them; which shards are indexed and when the table names a
// new state is up to package catalog. docs/design/key-index.md has the rules.
//
//	state  "shardcat-keys-1 " | XXH3-64 of what follows, 16 hex digits | \n | JSON of State
//	level  a layer file of one column, types bytes,(): key | unit u32 | row u32, both big-endian; settings of the file name
//	       the table, the key and the level
//
// A unit is a stripe, by the number that the state gives it; a row is a record of it, deleted ones counted. Keys of more than 256 bytes are cut
// to 240 and their XXH3-128, so that what is found is compared with the values, as it has to be all the same.
package keyindex
