package faultwalk

import (
	"fmt"
	"io"
	"strings"
	"syscall"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// fault is one way in which requests go wrong.
type fault struct {
	name string
	// script for the n-th request of the kind; {n}, {n+1}, {n+2} and {n+4} stand for numbers.
	script string
	// kind of request that n counts, any if empty.
	kind string
	// brings is the class that it may bring besides the ones of a store that can't be reached.
	brings []error
	// hides: what is there may be reported not to be.
	hides bool
	// deletions: only for commands that delete or replace what nobody can take back.
	deletions bool
}

// at is the script for the n-th request.
func (f *fault) at(n int) string {
	s := strings.ReplaceAll(strings.ReplaceAll(f.script, "{n}", fmt.Sprint(n)), "{n+1}", fmt.Sprint(n+1))
	return strings.ReplaceAll(strings.ReplaceAll(s, "{n+2}", fmt.Sprint(n+2)), "{n+4}", fmt.Sprint(n+4))
}

// suits reports whether a fault is for a command.
func (f *fault) suits(c *command) bool { return !f.deletions || c.deletes }

var (
	denied  = []error{blobio.ErrDenied}
	damaged = []error{corrupt.ErrCorrupt, corrupt.ErrUnsupported}
)

// Iceberg's metadata, text that is ingested or exported and the arguments of a command have no checksums: a flipped bit in them is the transport's
// to find. Every other byte is a shard's.
const unprotected = "get~json *: stall 0s\nget~.avro *: stall 0s\nget~.txt *: stall 0s\nget~.csv *: stall 0s\n"

// bucketFaults are for the fault bucket.
var bucketFaults = append([]fault{
	{name: "unreachable once", script: "any {n}: fail transient"},
	{name: "busy once", script: "any {n}: fail throttled"},
	{name: "busy for a while", script: "any {n}-{n+2}: fail throttled after 2ms"},
	{name: "denied once", script: "any {n}: fail denied", brings: denied},
	{name: "denied now and then", script: "any {n}: fail denied\nany {n+2}: fail denied\nany {n+4}: fail denied", brings: denied},
	{name: "denied from then on", script: "any {n}-: fail denied", brings: denied},
	{name: "answer lost", script: "any {n}: lost transient"},
	{name: "outcome unknown", script: "any {n}: lost unknown"},
	{name: "unreachable from then on", script: "any {n}-: fail transient"},
	{name: "every answer lost from then on", script: "any {n}-: lost transient"},
	{name: "delivered twice", script: "any {n}: twice"},
	{name: "stale list", script: "list {n}: hide", kind: "list", hides: true},
	{name: "slow", script: "any {n}: stall 2ms"},
	{name: "404 twice", script: "any {n}-{n+1}: hide", brings: wronglyMissing, hides: true, deletions: true},
	{name: "stale list twice", script: "list {n}-{n+1}: hide", kind: "list", hides: true, deletions: true},
}, bodyFaults...)

// proxyFaults are for the fault proxy.
var proxyFaults = append([]fault{
	{name: "connection dropped", script: "any {n}: drop"},
	{name: "answer lost", script: "any {n}: lost"},
	{name: "answer became 500", script: "any {n}: lost 500"},
	{name: "answer became 503", script: "any {n}: lost 503"},
	{name: "503 once", script: "any {n}: fail 503"},
	{name: "503 for a while", script: "any {n}-{n+2}: fail 503"},
	{name: "503 with Retry-After", script: "any {n}: fail 503 after 1s"},
	{name: "429 for a while", script: "any {n}-{n+2}: fail 429"},
	{name: "503 from then on", script: "any {n}-: fail 503"},
	{name: "403 once", script: "any {n}: fail 403", brings: denied},
	{name: "403 now and then", script: "any {n}: fail 403\nany {n+2}: fail 403\nany {n+4}: fail 403", brings: denied},
	{name: "403 from then on", script: "any {n}-: fail 403", brings: denied},
	{name: "every answer lost from then on", script: "any {n}-: lost"},
	{name: "connections refused from then on", script: "any {n}: call refuse"},
	{name: "delivered twice", script: "any {n}: twice"},
	{name: "slow body", script: "get {n}: slow 5ms"},
	{name: "stale list", script: "list {n}: stale", kind: "list", hides: true},
	{name: "404 twice", script: "any {n}-{n+1}: fail 404", brings: wronglyMissing, hides: true, deletions: true},
	{name: "stale list twice", script: "list {n}-{n+1}: stale", kind: "list", hides: true, deletions: true},
}, bodyFaults...)

// bodyFaults are for both.
var bodyFaults = []fault{
	{name: "body cut at its start", script: "get {n}: cut 0", kind: "get"},
	{name: "body cut after a byte", script: "get {n}: cut 1", kind: "get"},
	{name: "body cut within", script: "get {n}: cut 100", kind: "get"},
	{name: "body cut before its last byte", script: "get {n}: cut -1", kind: "get"},
	{name: "first byte flipped", script: unprotected + "get {n}: flip 0", kind: "get", brings: damaged},
	{name: "byte 40 flipped", script: unprotected + "get {n}: flip 40", kind: "get", brings: damaged},
	{name: "byte 300 flipped", script: unprotected + "get {n}: flip 300", kind: "get", brings: damaged},
	{name: "byte 100 from the end flipped", script: unprotected + "get {n}: flip -100", kind: "get", brings: damaged},
	{name: "last byte flipped", script: unprotected + "get {n}: flip -1", kind: "get", brings: damaged},
	{name: "byte 40 flipped twice", script: unprotected + "get {n}-{n+1}: flip 40", kind: "get", brings: damaged, deletions: true},
	{name: "metadata denied for a while", script: "get~.metadata.json {n}-{n+4}: fail denied", kind: "get", brings: denied, deletions: true},
}

// catalogFaults are for the catalog.
var catalogFaults = []fault{
	{name: "404 once", script: "any {n}: fail 404", brings: missing, hides: true},
	{name: "403 once", script: "any {n}: fail 403", brings: refused},
	{name: "401 once", script: "any {n}: fail 401", brings: refused},
	{name: "400 once", script: "any {n}: fail 400", brings: refused},
	{name: "500 once", script: "any {n}: fail 500", brings: away},
	{name: "503 once", script: "any {n}: fail 503", brings: away},
	{name: "reset once", script: "any {n}: fail reset", brings: away},
	{name: "conflict once", script: "commit {n}: fail 409", kind: "commit"},
	{name: "404 from then on", script: "any {n}-: fail 404", brings: missing, hides: true},
	{name: "403 from then on", script: "any {n}-: fail 403", brings: refused},
	{name: "503 from then on", script: "any {n}-: fail 503", brings: away},
	{name: "reset from then on", script: "any {n}-: fail reset", brings: away},
	{name: "conflict for ever", script: "commit {n}-: fail 409", kind: "commit", brings: []error{catalog.ErrConflict}, hides: true},
	{name: "answer lost", script: "any {n}: lost reset", brings: away},
	{name: "answer became 404", script: "any {n}: lost 404", brings: missing, hides: true},
	{name: "answer became 403", script: "any {n}: lost 403", brings: refused},
	{name: "answer became 400", script: "any {n}: lost 400", brings: refused},
	{name: "answer became 409", script: "any {n}: lost 409", brings: []error{rest.ErrCommitFailed, rest.ErrRESTError, catalog.ErrConflict}, hides: true},
	{name: "answer became 503", script: "any {n}: lost 503", brings: away},
	{name: "every answer lost from then on", script: "any {n}-: lost reset", brings: away},
	{name: "answer lost, then 404", script: "commit {n}: lost reset\nload {n}-: fail 404", kind: "commit", brings: missing, hides: true},
	{name: "success, then 404", script: "commit {n+2}-: fail 404\nload {n+2}-: fail 404", kind: "commit", brings: missing, hides: true},
	{name: "delivered twice", script: "any {n}: twice", brings: []error{catalog.ErrExists, catalog.ErrNotFound}, hides: true},
	{name: "old state once", script: "load {n}: stale", kind: "load", brings: raced, hides: true},
	{name: "old state from then on", script: "load {n}-: stale", kind: "load", brings: raced, hides: true},
	{name: "404 twice", script: "any {n}-{n+1}: fail 404", brings: missing, hides: true, deletions: true},
	{name: "old state twice", script: "load {n}-{n+1}: stale", kind: "load", brings: raced, hides: true, deletions: true},
	{name: "renamed before", script: "any {n}: before rename", brings: twice, hides: true},
	{name: "renamed after", script: "any {n}: after rename", brings: twice, hides: true},
	{name: "dropped and recovered before", script: "any {n}: before recover", brings: raced, hides: true},
	{name: "dropped and recovered after", script: "any {n}: after recover", brings: raced, hides: true},
	{name: "changed by another writer", script: "any {n}: before change", brings: raced, hides: true},
	{name: "changed after", script: "any {n}: after change", brings: raced, hides: true},
	{name: "slow", script: "any {n}: slow 2ms"},
}

// wronglyMissing are errors of a command to which two objects in a row seem to be missing.
var wronglyMissing = []error{blobio.ErrNotFound, catalog.ErrNotFound, catalog.ErrConflict, catalog.ErrUnsafe, catalog.ErrExists, catalog.ErrLeaseLost, corrupt.ErrCorrupt}

var (
	raced   = []error{catalog.ErrConflict, catalog.ErrNotFound}
	missing = []error{catalog.ErrNotFound, icecatalog.ErrNoSuchTable, icecatalog.ErrNoSuchNamespace}
	// A collection may see the table under both names, and refuses.
	twice   = append([]error{catalog.ErrUnsafe}, missing...)
	refused = []error{catalog.ErrRefused, rest.ErrForbidden, rest.ErrUnauthorized, rest.ErrBadRequest}
	away    = []error{rest.ErrCommitStateUnknown, rest.ErrServiceUnavailable, rest.ErrServerError, syscall.ECONNRESET, io.EOF, io.ErrUnexpectedEOF}
)
