package catalog

import (
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog/internal/commitqueue"
)

// objectKind is what an object's name reports about it.
type objectKind int

const (
	// unknownObject is never deleted.
	unknownObject objectKind = iota
	// controlObject is a record of owner, jobs, drop, collection or compaction, or a ticket of the commit queue.
	controlObject
	// rootObject is the root of a shard; dataObject a stripe or a part of an index.
	rootObject
	dataObject
	// icebergFile is one of Iceberg's: table metadata, a manifest or a manifest list.
	icebergFile
)

// kindOf reports what an object of the table's vault or metadata folder is, by its name.
func (t *Table) kindOf(url string) objectKind {
	if name, ok := strings.CutPrefix(url, t.VaultFolder()); ok {
		return vaultKind(name)
	}
	if of, ok := checksummed(url); ok && strings.HasPrefix(url, t.metadataFolder()) {
		return t.kindOf(of)
	}
	if name, ok := strings.CutPrefix(url, t.metadataFolder()); ok && !strings.Contains(name, "/") &&
		(strings.HasSuffix(name, ".metadata.json") || strings.HasSuffix(name, ".avro")) {
		return icebergFile
	}
	return unknownObject
}

// checksummed is the file that a checksum of Hadoop's is for: on a local file system, where Java's clients and servers write
// through Hadoop, .NAME.crc lies beside every NAME. It lives as long as that file.
func checksummed(url string) (of string, ok bool) {
	i := strings.LastIndexByte(url, '/') + 1
	name, dot := strings.CutPrefix(url[i:], ".")
	name, crc := strings.CutSuffix(name, ".crc")
	return url[:i] + name, dot && crc && name != ""
}

func vaultKind(name string) objectKind {
	switch folder, _, nested := strings.Cut(name, "/"); {
	case nested && slices.Contains([]string{"_jobs", "_gc", "_compaction", commitqueue.Folder, nameNotes}, folder) && strings.HasSuffix(name, ".json"),
		name == "_owner.json", name == "_dropped.json", name == nameRecord:
		return controlObject
	case nested && folder == "data" && strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ".amudai."):
		return dataObject
	case !nested && strings.HasSuffix(name, ".amudai.shard"):
		return rootObject
	}
	return unknownObject
}
