// Package simulation holds a test that lets writers, compactors, deletions, expiry and collection work on one table
// in turns that a seed chooses; it has no code of its own.
//
// The store and the catalog lie in memory, time is virtual. An actor that is about to commit may find that others
// have run a whole operation in between; it may be killed at any object it writes or deletes and at any commit, or lose
// the answer of one. The test keeps a ledger of the rows itself and compares the table with it after every step.
// At the end nothing that is live is lost, everything is verified, and no garbage is left.
//
// Seeds are printed; SHARDCAT_SEED runs one alone, SHARDCAT_NEW_SEEDS takes others, SHARDCAT_FULL runs thousands.
package simulation
