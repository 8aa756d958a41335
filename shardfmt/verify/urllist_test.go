package verify

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// TestGapsOfTheURLListAreTold: an object that references reach and the list lacks is a warning with its name; a list with all of
// them has none.
func TestGapsOfTheURLListAreTold(t *testing.T) {
	workOf(t, 2, 3) // mem://linear-2-3/s.amudai.shard
	const folder, old = "mem://linear-2-3/", "s.amudai.shard"
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	whole, _, err := client.ReadSuffix(t.Context(), folder+old, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	was, _, _, err := meta.ParseTail(whole, int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	objects := []string{old}
	for info, err := range client.List(t.Context(), folder) {
		if name := strings.TrimPrefix(info.URL, folder); err == nil && name != old {
			objects = append(objects, name)
		}
	}
	// A root whose parts lie in the old one, with a list of its own.
	for listed := range len(objects) + 1 {
		b, dir := meta.NewRootBuilder(), proto.CloneOf(was)
		meta.RewriteURLs(dir, func(string) string { return old })
		dir.UrlListRef = b.Add(&metapb.UrlList{Urls: objects[:listed]})
		url := folder + "n" + strings.Repeat("x", listed) + ".amudai.shard"
		if err := client.Put(t.Context(), url, b.Finish(dir)); err != nil {
			t.Fatal(err)
		}
		r, err := Shard(t.Context(), client, url, Options{})
		if err != nil || !r.OK {
			t.Fatalf("%d listed: %v, %+v", listed, err, r)
		}
		all := strings.Join(r.Warnings, "\n")
		for i, name := range objects {
			if strings.Contains(all, folder+name+": not in the shard's URL list") != (i >= listed) {
				t.Errorf("%d of %q listed: %q", listed, objects, r.Warnings)
			}
		}
	}
}
