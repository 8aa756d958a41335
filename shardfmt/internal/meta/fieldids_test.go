package meta

import "testing"

func TestFieldIDs(t *testing.T) {
	ids, err := ParseFieldIDs(FormatFieldIDs([]int{1, 0, 7, 0}), 4)
	if err != nil || len(ids) != 4 || ids[2] != 7 {
		t.Fatalf("%v, %v", ids, err)
	}
	for _, bad := range []string{"1,1", "1,x", "-1,2", "1", "1,2,3", "99999999999,1"} {
		if _, err := ParseFieldIDs(bad, 2); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
