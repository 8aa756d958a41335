// Package temporal runs compactions on Temporal: many machines, one workflow for each table.
//
//	Schedule of a table ──► Tick ──► CompactTable (one workflow id per table)
//	                                   Plan ─► for each group: Write ─► ReadBack ─► Commit ─► … ─► Finish
//
// The activities are the steps of package compaction. They hand over the id of a plan and the number of a group; lists of shards stay in the
// table's vault folder (savedplan.Plan) and in the records of jobs. So payloads are some hundred bytes whatever the size of the
// table, and a workflow continues as new long before its history grows.
//
// A table has one schedule, which skips what overlaps, spreads by jitter, and pauses after a failure; Tick, which it starts, starts the
// table's one workflow as a child, or leaves it alone if somebody else has. Groups are worked on by queues for their size class, so that small merges never
// wait for rebuilds that take hours.
//
// Nothing is safe because of Temporal: every step may be delivered twice, at the same time or a day later, and a worker may die in any of
// them. A step that was done is passed over, a commit asserts its inputs, and what a dead worker had written is found again.
package temporal
