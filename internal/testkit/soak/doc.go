// Package soak holds a test that keeps tables busy while everybody is killed; it has no code of its own.
//
// Writers, two to a table, add rows, delete their own and add columns. Three services compact the tables by a schedule of a second,
// expire and collect. Each is a process of its own whose clock jumps by an hour in either direction, whose requests to the store fail,
// get lost or hang, and whose commits to the catalog lose their way there or back. Writers and two of the services are killed
// by SIGKILL, stopped by SIGSTOP for a while, or ended by SIGTERM, also in their first second; the third service lives to the end, so that
// its memory can be watched. Meanwhile another process's worth of collections deletes what nothing reaches.
//
// A writer reports what it is about to do before it does it. The test keeps the ledger: what a killed writer had begun is looked
// up in the table, and must have been done whole or not at all.
//
// What is asserted, while it runs and at the end:
//
//   - every table holds exactly the rows of the ledger, and its shards verify to the last byte
//   - a table has no more shards than its policy leaves, and those that were added since the last few compactions, or whose group
//     is in quarantine because a fault hit it
//   - every lease can be taken in the end; for how long a table went without a compaction is printed
//   - what was marked for deletion is gone after the first collection that begins when the delay is over, and in the end nothing is in
//     the store that the table does not reach
//   - no table is halted, and services fail only by faults that were injected, or by races
//   - the live heap of a service is the same at the end as it was early on
//
// It runs for six seconds; SHARDCAT_SOAK determines how long instead (.ci/run: two minutes, beside other steps; .ci/full: an hour). A
// failure prints its seed, SHARDCAT_SEED takes it, as far as the moments of a kill can be repeated.
package soak
