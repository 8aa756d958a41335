package meta

import (
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

func TestObjectSumsReadBack(t *testing.T) {
	data := []byte("the buffers of a stripe")
	v := ObjectSumsValue(
		ObjectSum{NewRef("data/x/1.amudai.stripe", 0, uint64(len(data))), xxh3.Hash(data)}, ObjectSum{NewRef("", 64, 69), xxh3.Hash(data[:5])})
	var again metapb.AnyValue
	if err := unmarshal(Marshal(v), &again); err != nil {
		t.Fatal(err)
	}
	sums := ObjectSums(&again)
	if len(sums) != 2 || sums[0].Ref.GetUrl() != "data/x/1.amudai.stripe" || sums[0].Sum != xxh3.Hash(data) {
		t.Fatalf("got %v", sums)
	}
	if r := sums[1].Ref.GetRange(); r.GetStart() != 64 || r.GetEnd() != 69 {
		t.Errorf("range of the second: %v", r)
	}
}

func TestObjectSumsOfForeignFormsAreLeftOut(t *testing.T) {
	for name, v := range map[string]*metapb.AnyValue{
		"nothing": nil, "no list": Int(1), "no structs": ListOf(Int(1), Null()),
		"no reference": ListOf(StructOf(Pair("xxh3", Uint(1)))),
		"no sum":       ListOf(StructOf(Pair("url", &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: SelfRef(0, 1)}}))),
	} {
		if sums := ObjectSums(v); len(sums) != 0 {
			t.Errorf("%s: got %v", name, sums)
		}
	}
}
