// Package catalog keeps tables of shards in an Iceberg catalog.
//
// # Layout
//
//	<warehouse>/<namespace>/<table>-<8 hex>/metadata/   Iceberg's metadata, manifests and manifest lists
//	<vault>/<table-uuid>/_owner.json                    which catalog and table own the folder
//	<vault>/<table-uuid>/_jobs/<job>.json               a job was begun, <job>.closed.json: it ended
//	<vault>/<table-uuid>/_dropped.json                  the table was dropped, and when
//	<vault>/<table-uuid>/<id>.amudai.shard              roots, all at the top
//	<vault>/<table-uuid>/data/<id>/…                    stripes and indexes
//
// The vault lies outside every table location, so that nobody's clean-up of a location can reach data. Objects
// are write-once under random names that are never used again.
//
// # Commits
//
// The Iceberg catalog's commit is the only commit point. An attempt ends in one of three ways: committed,
// rejected by an authoritative answer, or unknown (a lost response, a time-out). After an unknown one the table
// is loaded again: the job's id in the branch's history states committed; a head that has not moved means that
// the identical commit is sent again; a head that moved without the job's id states rejected. Nothing that a job
// wrote is deleted before that is decided. A rejected change is validated and staged again on the new head.
//
// # Jobs
//
// A job is recorded before its first object is written and closed when its outcome is known. Everything that
// an open job names is live for collection. A job id is committed at most once: who delivers a job again gets
// the snapshot of the first time.
package catalog
