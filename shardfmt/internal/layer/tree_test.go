package layer

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
)

// objects numbers the objects of the tests: the memory bucket is one for the process.
var objects atomic.Int64

func open(t testing.TB, data []byte, types string) (*File, *blobio.Client, error) {
	t.Helper()
	c := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	url := fmt.Sprintf("mem://layer-test/%d.layer", objects.Add(1))
	if err := c.Put(context.Background(), url, data); err != nil {
		t.Fatal(err)
	}
	var pairs []Pair
	if types != "" {
		var err error
		if pairs, err = ParseTypes(types); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(context.Background(), c, url, pairs)
	return f, c, err
}

func mustOpen(t testing.TB, data []byte, types string) (*File, *blobio.Client) {
	t.Helper()
	f, c, err := open(t, data, types)
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

func text(v int64) Value { return Value{Bytes: []byte(fmt.Sprintf("%0*d", 1+int(v*7919%29), v))} }

// tree writes n rows of 3 columns (or fewer), with tiny blocks, and gives the keys of each column in order.
func tree(t testing.TB, n int, columns int, o WriteOptions) (data []byte, types string, keys [3][]int64, groups [3][]int) {
	t.Helper()
	types = strings.Join([]string{"i64,u64", "string,()", "u32,string"}[:columns], "/")
	pairs, err := ParseTypes(types)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	var write func(column int, key int64)
	put := func(column int, key int64) {
		k := Value{Int: key, Uint: uint64(key)}
		aux := Value{Uint: uint64(key) * 3}
		switch column {
		case 1:
			k = Value{Bytes: fmt.Appendf(nil, "%020d", key)}
		case 2:
			aux = text(key)
		}
		if err := w.Write(column, k, aux); err != nil {
			t.Fatal(err)
		}
		keys[column] = append(keys[column], key)
	}
	write = func(column int, key int64) {
		if column < columns-1 {
			m, k := 1+r.IntN(4), int64(0)
			for range m {
				k += 1 + int64(r.IntN(5))
				write(column+1, k)
			}
			groups[column] = append(groups[column], m)
		}
		put(column, key)
	}
	for i := range n {
		write(0, int64(i)*3-500)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), types, keys, groups
}

var tiny = WriteOptions{MinDataBlock: 512, MinIndexBlock: 512, MinBranch: 2}

func keyOf(column int, v Value) int64 {
	switch column {
	case 0:
		return v.Int
	case 1:
		var n int64
		fmt.Sscan(strings.TrimLeft(string(v.Bytes), "0"), &n)
		return n
	}
	return int64(v.Uint)
}
