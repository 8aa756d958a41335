package layer

import "testing"

// shape is the tree that values of one size make, by the arithmetic of the text that proposed the format: keys in the
// index twice, and nothing counted but keys.
type shape struct {
	// ValuesPerBlock and ChildrenPerBlock are how many values a data block and how many children an index block holds.
	ValuesPerBlock, ChildrenPerBlock int64
	// Height is the number of index levels above the data blocks.
	Height int
	// Covered is how many values one index block of each level covers, the lowest level first.
	Covered []int64
	// IndexBytes of all levels.
	IndexBytes int64
}

// estimate reports the shape of a file of so many bytes of values, each of valueBytes.
func estimate(totalBytes, valueBytes int64, o WriteOptions) shape {
	o = o.withDefaults()
	s := shape{
		ValuesPerBlock:   max(int64(o.MinBranch), int64(o.MinDataBlock)/valueBytes),
		ChildrenPerBlock: max(int64(o.MinBranch), int64(o.MinIndexBlock)/(2*valueBytes)),
	}
	indexBlock := max(int64(o.MinIndexBlock), s.ChildrenPerBlock*2*valueBytes)
	values := totalBytes / valueBytes
	blocks, covered := (values+s.ValuesPerBlock-1)/s.ValuesPerBlock, s.ValuesPerBlock
	for blocks > 1 {
		blocks = (blocks + s.ChildrenPerBlock - 1) / s.ChildrenPerBlock
		covered *= s.ChildrenPerBlock
		s.Height++
		s.Covered = append(s.Covered, covered)
		s.IndexBytes += blocks * indexBlock
	}
	return s
}

// The tables of the text that proposed the format: the shape of 1 TB by the size of its values, for its choices of block
// sizes and branching.
func TestShapes(t *testing.T) {
	const terabyte = 1 << 40
	type row struct {
		value, values, children int64
		height                  int
		l1, top                 int64 // values under a block of the first and of the last level but one
		gigabytes               float64
	}
	for _, table := range []struct {
		branch, data, index int
		rows                []row
	}{
		{16, 4096, 4096, []row{{16, 256, 128, 4, 32 << 10, 536870912, 8.1}, {32, 128, 64, 5, 8 << 10, 2 << 30, 16}, {128, 32, 16, 7, 512, 536870912, 68}, {1 << 10, 16, 16, 7, 256, 268435456, 136}, {64 << 10, 16, 16, 5, 256, 1 << 20, 136}}},
		{16, 4096, 8192, []row{{16, 256, 256, 4, 64 << 10, 4 << 30, 8.0}, {64, 64, 64, 5, 4 << 10, 1 << 30, 32}, {128, 32, 32, 6, 1 << 10, 1 << 30, 66}}},
		{32, 4096, 4096, []row{{32, 128, 64, 5, 8 << 10, 2 << 30, 16}, {64, 64, 32, 6, 2 << 10, 2 << 30, 33}, {1 << 10, 32, 32, 5, 1 << 10, 32 << 20, 66}, {64 << 10, 32, 32, 4, 1 << 10, 1 << 20, 66}}},
		{32, 8192, 8192, []row{{32, 256, 128, 4, 32 << 10, 536870912, 8.1}, {64, 128, 64, 5, 8 << 10, 2 << 30, 16}, {128, 64, 32, 6, 2 << 10, 2 << 30, 33}, {1 << 10, 32, 32, 5, 1 << 10, 32 << 20, 66}, {64 << 10, 32, 32, 4, 1 << 10, 1 << 20, 66}}},
	} {
		for _, want := range table.rows {
			s := estimate(terabyte, want.value, WriteOptions{MinBranch: table.branch, MinDataBlock: table.data, MinIndexBlock: table.index})
			gigabytes := float64(s.IndexBytes) / (1 << 30)
			if s.ValuesPerBlock != want.values || s.ChildrenPerBlock != want.children || s.Height != want.height || s.Covered[0] != want.l1 ||
				s.Covered[s.Height-2] != want.top || gigabytes < want.gigabytes-1 || gigabytes > want.gigabytes+1 {
				t.Errorf("values of %d bytes with %+v:\n%+v, %.2f GB\nwant %+v", want.value, table.branch, s, gigabytes, want)
			}
		}
	}
	for value := int64(16); value <= 64<<10; value *= 2 {
		if s := estimate(terabyte, value, WriteOptions{}); s.Height > 6 {
			t.Errorf("values of %d bytes: %d levels", value, s.Height)
		}
	}
}

// A file has the height that the estimate states, and not more than its values of a block.
func TestShapeOfAFile(t *testing.T) {
	const n = 5000
	o := WriteOptions{MinDataBlock: 1024, MinIndexBlock: 1024, MinBranch: 4}
	f, _ := mustOpen(t, write(t, n, "i64,()", o, even), "i64,()")
	depth := 0
	for node := f.top(0); ; depth++ {
		if !node.index {
			break
		}
		x, err := node.open(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		node = node.child(x, 0)
	}
	if s := estimate(n*8, 8, o); depth < s.Height || depth > s.Height+1 {
		t.Errorf("%d index levels, estimated %d", depth, s.Height)
	}
}
