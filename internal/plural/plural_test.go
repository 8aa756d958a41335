package plural

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 shards": Count(0, "shard"), "1 shard": Count(1, "shard"), "2 shards": Count(uint32(2), "shard"), "11 rows": Count(int64(11), "row"),
		"1 index": Count(1, "index"), "3 indexes": Count(3, "index"), "1 entry": Count(1, "entry"), "2 entries": Count(2, "entry"), "1 key index": Count(uint64(1), "key index"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
