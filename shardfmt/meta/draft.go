package meta

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// The draft of the format numbers the fields of a reference otherwise: url is 2 and range is 3, where the wire
// has 1 and 2. Read as the wire, such a directory would refer to nothing.
const (
	directoryFieldList = 3
	draftRange         = 3
)

// refuseDraft recognises the directory of a draft shard by the reference to its field list, which every
// directory has.
func refuseDraft(payload []byte) error {
	ref, ok := bytesField(payload, directoryFieldList)
	if !ok {
		return nil
	}
	if _, draft := bytesField(ref, draftRange); draft {
		return corrupt.Unsupported(0, "a shard on the draft wire (references with url = 2, range = 3)")
	}
	return nil
}

// bytesField is the content of the first length-delimited field of that number in a message.
func bytesField(b []byte, want protowire.Number) ([]byte, bool) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, false
		}
		if num == want && typ == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(b)
			body, _ := protowire.ConsumeBytes(b[tag:])
			return body, true
		}
		b = b[n:]
	}
	return nil, false
}
