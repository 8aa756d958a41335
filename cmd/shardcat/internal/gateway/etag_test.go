package gateway

import (
	"testing"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway/view"
)

type tagged struct {
	view.Object
	tag string
}

func (t tagged) Tag() string { return t.tag }

// TestETag: the ETag changes with the object's name and with its own tag, which changes where a column was widened.
func TestETag(t *testing.T) {
	var _ interface{ Tag() string } = (*shardFile)(nil) // what data files are
	plain := etagOf("k", tagged{tag: "1"})
	if plain != etagOf("k", tagged{tag: "1"}) {
		t.Error("the ETag of one object changes")
	}
	for name, other := range map[string]string{
		"another name": etagOf("l", tagged{tag: "1"}), "another tag": etagOf("k", tagged{tag: "2"}), "no tag": etagOf("k", struct{ view.Object }{}),
	} {
		if other == plain {
			t.Errorf("%s: the same ETag", name)
		}
	}
}
