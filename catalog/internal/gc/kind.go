// Package gc has the rules of garbage collection: what an object is by its name, whether anything reaches it, what becomes of one that nothing reaches, and
// which tables have a part in the folders of another. It makes no requests to stores (symbolic links of local folders are resolved): package catalog lists, reads and deletes, by these rules.
package gc

import (
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog/internal/commitqueue"
)

// Kind is what an object's name reports about it.
type Kind int

const (
	// Unknown is never deleted.
	Unknown Kind = iota
	// Control is a record of owner, jobs, drop, collection or compaction, or a ticket of the commit queue.
	Control
	// Root is the root of a shard; Data a stripe or a part of an index.
	Root
	Data
	// Iceberg is one of Iceberg's: table metadata, a manifest or a manifest list.
	Iceberg
)

// Records of the versions of a table's name, in its vault folder.
const (
	// NameNotes is the folder of the versions of the name of a table that was renamed or recovered; earlier builds wrote NameRecord.
	NameNotes  = "_name"
	NameRecord = NameNotes + ".json"
)

// Folders are those of a table in which a collection deletes, with a trailing slash.
type Folders struct{ Vault, Metadata string }

// KindOf reports what an object of the folders is, by its name.
func (f Folders) KindOf(url string) Kind {
	if name, ok := strings.CutPrefix(url, f.Vault); ok {
		return VaultKind(name)
	}
	if of, ok := Checksummed(url); ok && strings.HasPrefix(url, f.Metadata) {
		return f.KindOf(of)
	}
	if name, ok := strings.CutPrefix(url, f.Metadata); ok && !strings.Contains(name, "/") &&
		(strings.HasSuffix(name, ".metadata.json") || strings.HasSuffix(name, ".avro")) {
		return Iceberg
	}
	return Unknown
}

// Checksummed is the file that a checksum of Hadoop's is for: on a local file system, where Java's clients and servers write
// through Hadoop, .NAME.crc lies beside every NAME. It lives as long as that file.
func Checksummed(url string) (of string, ok bool) {
	i := strings.LastIndexByte(url, '/') + 1
	name, dot := strings.CutPrefix(url[i:], ".")
	name, crc := strings.CutSuffix(name, ".crc")
	return url[:i] + name, dot && crc && name != ""
}

// VaultKind reports what an object is by its name below a vault folder.
func VaultKind(name string) Kind {
	switch folder, _, nested := strings.Cut(name, "/"); {
	case nested && slices.Contains([]string{"_jobs", "_gc", "_compaction", commitqueue.Folder, NameNotes}, folder) && strings.HasSuffix(name, ".json"),
		name == "_owner.json", name == "_dropped.json", name == NameRecord:
		return Control
	case nested && folder == "data" && strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ".amudai."):
		return Data
	case !nested && strings.HasSuffix(name, ".amudai.shard"):
		return Root
	}
	return Unknown
}
