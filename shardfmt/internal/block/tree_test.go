package block

import "testing"

func TestDescribe(t *testing.T) {
	for name, want := range map[string]string{
		"Plain i32":                 "Plain",
		"Delta i64":                 "Delta[SingleValue]",
		"RunLength i64, two levels": "RunLength[TruncateU16[Delta[SingleValue]], SingleValue]",
		"ZigZag i32, four levels":   "ZigZag[RunLength[Delta[RunLength[raw, raw]], SingleValue]]",
		"Sparse i32, nested":        "Sparse[Plain, TruncateU8[raw]]",
		"Sparse i32, nothing":       "Sparse",
		"BlockDictionary i32":       "BlockDictionary[Plain, raw]",
		"Alp f64, three levels":     "Alp[TruncateU16[Delta[SingleValue]]]",
		"AlpRd f64":                 "AlpRd[Plain, Plain]",
	} {
		if tree, _ := treeOf(t, name); tree.String() != want {
			t.Errorf("%s: %v, want %s", name, tree, want)
		}
	}
	for name, want := range map[string]string{
		"Plain":                           "Plain",
		"BlockDictionary, lengths nested": "BlockDictionary[Plain, SingleValue]",
		"BlockDictionary fixed":           "BlockDictionary[Plain]",
		"Fsst":                            "Fsst[raw]",
		"Lz4":                             "Lz4[raw]",
		"Lz4 fixed":                       "Lz4",
	} {
		for _, c := range bytesVectors {
			if c.name != name {
				continue
			}
			elem := Binary
			if c.fixed > 0 {
				elem = FixedBinary
			}
			tree, err := Describe(unhex(t, c.dump), elem, len(c.want), c.fixed)
			if err != nil || tree.String() != want {
				t.Errorf("%s: %v, want %s; error %v", name, tree, want, err)
			}
		}
	}
}

// The offsets of a tree are those of the bytes.
func TestDescribeOffsets(t *testing.T) {
	tree, sub := treeOf(t, "RunLength i64, two levels")
	tree.Walk(func(n *Tree) {
		if n.Code != 0 && Code(u16(sub, n.Offset)) != n.Code {
			t.Errorf("%s at %d, where the code is %d", n.Encoding, n.Offset, u16(sub, n.Offset))
		}
	})
	if d := tree.Children[0].Children[0].Detail; d != "base 0" {
		t.Errorf("detail of Delta: %q", d)
	}
}
