// Package arrowhttp serves the tables of a catalog over HTTP, for programs that have no reader of shards:
//
//	GET  /v1/tables                        the tables there are
//	GET  /v1/tables/{table}                columns, Arrow schema, current snapshot, size
//	GET  /v1/tables/{table}/plan           a scan cut into tasks (catalog.TaskPlan)
//	GET  /v1/tables/{table}/rows           the rows of a scan, or of one task
//	POST /v1/tables/{table}/task           the rows of the task in the body
//	POST /v1/tables/{table}/rows           append rows, in one snapshot
//	POST /v1/tables/{table}/jobs/{job}/runs     write rows as shards that a commit of the job makes part of the table
//	POST /v1/tables/{table}/jobs/{job}/commit   commit runs of a job, in one snapshot
//	DELETE /v1/tables/{table}/jobs/{job}        discard what is not committed of a job
//	GET  /v1/openapi.json, /v1/            this, for machines and for people
//
// Rows are an Arrow IPC stream, NDJSON or CSV, as Accept asks. They are written as they are read: the answer goes no faster than
// the client takes it, and no answer is gathered anywhere. What fails before the first byte is a problem (RFC 9457);
// what fails later breaks the connection, without the end of the chunks, of the Arrow stream and of the compression, so
// that no part of an answer passes for the whole.
package arrowhttp
