// Package soak holds a test that keeps tables busy while services are killed; it has no code of its own.
//
// Two services, each a process of its own, compact a few tables by a schedule of a second. One of them has a clock that is an hour ahead, so that
// it takes every lease for dead. Meanwhile rows are added and deleted and columns are added, and one service or the other is killed
// by SIGKILL, stopped by SIGSTOP for a while, or ended by SIGTERM, also in its first second. The test keeps a ledger of the
// rows. At the end every table holds exactly those, its shards verify, they are few, leases can be taken, and collection finds
// nothing live to take.
//
// It runs for six seconds; SHARDCAT_SOAK says how long instead (.ci/full: an hour). A failure prints its seed, SHARDCAT_SEED takes it, as
// far as the moments of a kill can be repeated.
package soak
