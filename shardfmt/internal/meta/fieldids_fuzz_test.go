package meta

import (
	"slices"
	"testing"
)

// FuzzFieldIDs: the property of field ids is anyone's text; what is read is written and read back as the same ids.
func FuzzFieldIDs(f *testing.F) {
	f.Add("1,2,0,7")
	f.Add("1,,2")
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := ParseFieldIDs(text, 4)
		if err != nil {
			return
		}
		if again, err := ParseFieldIDs(FormatFieldIDs(ids), 4); err != nil || !slices.Equal(again, ids) {
			t.Errorf("%q became %v, %v", text, again, err)
		}
	})
}
