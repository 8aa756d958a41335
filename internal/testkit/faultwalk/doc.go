// Package faultwalk holds the tests that run every command while its store or its catalog misbehaves; it has no
// code of its own.
//
// A walk takes one command and one fault, on one store. It breaks the first request of a run, the second of
// another run, and so on, until a run makes fewer requests than the number of the one to break. Each run starts
// from the same table and the same objects. What must hold after each:
//
//   - the command succeeded, and everything is as after it; or it failed with an error that has a class, and
//     everything is as before it. Where the error reports that the outcome is unknown, either will do.
//   - no fault is taken for "not found", and none but damaged bytes for corruption.
//   - every live shard verifies, and the rows are those that belong there: none lost, none doubled.
//   - every object in a table's vault folder is live, or named by the record of a job.
//   - the same command, once the faults are over, leads to the state after it.
//
// Stores are memory and a folder with the fault bucket of package blobfake in front, and real servers of S3,
// Azure Blob and GCS, where the environment names them (.ci/servers), behind package faultproxy. Three more are behind
// catalogs that misbehave (package catalogfault): SQLite, PostgreSQL (.ci/postgres) and a REST server (.ci/rest). By default a
// sample of all steps runs, chosen by SHARDCAT_SEED; with SHARDCAT_FULL set, all of them.
//
// The tests of the built program end it by SIGKILL and SIGTERM at random moments, and give it a full disk.
package faultwalk
