// Package webui serves what a compaction service does over HTTP: pages for people, metrics for Prometheus, and probes for whoever
// restarts it.
//
//	GET  /                              tables: backlog, shards, sizes, last and next run, problems
//	GET  /tables/NAME                   one table: its shards over creation time, the next plan and why, jobs, past runs, a filter to try
//	GET  /tables/NAME/shard?root=URL    one shard: stripes, fields, encodings, where the bytes are, first rows
//	POST /tables/NAME/{run,dry-run,pause,resume}
//	GET  /api/tables                    what / shows, as JSON
//	GET  /metrics /healthz /readyz
//
// Reading needs no token: who may connect may look, so the server listens on loopback by default. What changes
// something needs the token, as a bearer or through the page's login, and must not come from another site.
package webui
