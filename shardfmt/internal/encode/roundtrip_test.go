package encode

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

var allProfiles = []Profile{Plain, MinimalCompression, Balanced, HighCompression, MinimalSize}

// roundTrip encodes vals and requires the same bits back, except in null slots.
func roundTrip[T simd.Number](t testing.TB, e *Encoder, vals []T, valid []byte) []byte {
	t.Helper()
	sub, err := appendNumbers(e, nil, vals, valid)
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	got := make([]T, len(vals))
	if err := block.DecodeNumbers(got, sub, new(block.Scratch)); err != nil {
		t.Fatalf("decoding % x…: %v", sub[:min(len(sub), 32)], err)
	}
	want := make([]T, len(vals))
	copy(want, vals)
	for i := range want {
		if valid != nil && valid[i/8]>>(i%8)&1 == 0 {
			want[i] = got[i]
		}
	}
	if !bytes.Equal(simd.AsBytes(got), simd.AsBytes(want)) {
		for i := range want {
			if a, b := simd.AsBytes(got[i:i+1]), simd.AsBytes(want[i:i+1]); !bytes.Equal(a, b) {
				t.Fatalf("%s: value %d of %d is %v (% x), want %v (% x)", block.Code(sub[0]), i, len(vals), got[i], a, want[i], b)
			}
		}
	}
	return sub
}

func TestNumbersRoundTrip(t *testing.T) {
	for _, p := range allProfiles {
		t.Run(p.String(), func(t *testing.T) {
			e := NewEncoder(Options{Profile: p})
			for _, n := range []int{0, 1, 7, 1023, 1024, 1025, 5000} {
				same, ramp := make([]int64, n), make([]int64, n)
				valid := make([]byte, (n+7)/8)
				for i := range n {
					same[i], ramp[i] = 42, int64(i*i)-1000
					if i%3 > 0 {
						valid[i/8] |= 1 << (i % 8)
					}
				}
				roundTrip(t, e, same, nil)
				roundTrip(t, e, ramp, nil)
				roundTrip(t, e, ramp, valid)
			}
		})
	}
}

func TestBytesRoundTrip(t *testing.T) {
	for _, p := range allProfiles {
		t.Run(p.String(), func(t *testing.T) {
			e := NewEncoder(Options{Profile: p})
			for _, n := range []int{0, 1, 100, 3000} {
				var data []byte
				offsets := []int64{0}
				for i := range n {
					data = fmt.Appendf(data, "value %d", i*i%977)
					offsets = append(offsets, int64(len(data)))
				}
				bytesRoundTrip(t, e, data, offsets, 0, nil)
				bytesRoundTrip(t, e, data[:len(data)/4*4], nil, 4, nil)
			}
		})
	}
}

func bytesRoundTrip(t testing.TB, e *Encoder, data []byte, offsets []int64, fixed int, valid []byte) []byte {
	t.Helper()
	sub, err := e.AppendBytes(nil, Bytes{Data: data, Offsets: offsets, Fixed: fixed, Valid: valid})
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	n := len(offsets) - 1
	if fixed > 0 {
		n = len(data) / fixed
	}
	var got block.Bytes
	if err := block.DecodeBytes(&got, sub, n, fixed, valid, new(block.Scratch)); err != nil {
		t.Fatalf("decoding % x…: %v", sub[:min(len(sub), 32)], err)
	}
	for i := range n {
		want, have := value(data, offsets, fixed, i), value(got.Data, got.Offsets, fixed, i)
		if valid != nil && valid[i/8]>>(i%8)&1 == 0 {
			want = make([]byte, fixed)
		}
		if !bytes.Equal(want, have) {
			t.Fatalf("%s: value %d of %d is %q, want %q", block.Code(sub[0]), i, n, have, want)
		}
	}
	return sub
}

func value(data []byte, offsets []int64, fixed, i int) []byte {
	if fixed > 0 {
		return data[i*fixed : (i+1)*fixed]
	}
	return data[offsets[i]:offsets[i+1]]
}

func TestPresenceRoundTrip(t *testing.T) {
	for _, n := range []int{1, 8, 100, 2048, 65536, 70000} {
		for _, every := range []int{1, 2, 3, 50, 1000} {
			for _, invert := range []byte{0, 0xff} {
				valid := make([]byte, (n+7)/8)
				for i := 0; i < n; i += every {
					valid[i/8] |= 1 << (i % 8)
				}
				for i := range valid {
					valid[i] = lastBits(valid[i]^invert, n-8*i)
				}
				for _, p := range []Profile{Plain, Balanced} {
					section := appendPresence(nil, valid, n, p)
					got := make([]byte, len(valid))
					nulls, err := block.DecodePresence(got, section, n)
					if err != nil || !bytes.Equal(got, valid) || nulls != n-countOnes(valid, n) {
						t.Fatalf("n %d, every %d, %v: section % x… gives %d nulls, %v", n, every, p, section[:min(len(section), 16)], nulls, err)
					}
					if len(section) > n+1 {
						t.Fatalf("n %d, every %d: section of %d bytes", n, every, len(section))
					}
				}
			}
		}
	}
}
