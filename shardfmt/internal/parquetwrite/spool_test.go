package parquetwrite

import (
	"bytes"
	"testing"
)

// TestSpool: what was written comes back from any place, in memory of about its size, which is given back.
func TestSpool(t *testing.T) {
	s, want := &spool{block: 7}, []byte(nil)
	for i := range 20 {
		part := bytes.Repeat([]byte{byte(i)}, i)
		if n, err := s.Write(part); n != i || err != nil {
			t.Fatal(n, err)
		}
		want = append(want, part...)
	}
	held := func() int { return len(s.blocks) * s.block }
	if s.Tell() != int64(len(want)) || held() >= len(want)+7 {
		t.Errorf("at %d, %d held, of %d", s.Tell(), held(), len(want))
	}
	for from := range want {
		var out bytes.Buffer
		if err := s.copyTo(&out, int64(from), int64(len(want)-from)); err != nil || !bytes.Equal(out.Bytes(), want[from:]) {
			t.Fatalf("from %d: %v", from, err)
		}
	}
	if s.drop(); held() != 0 {
		t.Error("memory is held after it was given back")
	}
}
