package layer

// Shape is the tree that values of one size make, by the arithmetic of the text that proposed the format: keys in the
// index twice, and nothing counted but keys.
type Shape struct {
	// ValuesPerBlock and ChildrenPerBlock are how many values a data block and how many children an index block holds.
	ValuesPerBlock, ChildrenPerBlock int64
	// Height is the number of index levels above the data blocks.
	Height int
	// Covered is how many values one index block of each level covers, the lowest level first.
	Covered []int64
	// IndexBytes of all levels.
	IndexBytes int64
}

// Estimate reports the shape of a file of so many bytes of values, each of valueBytes.
func Estimate(totalBytes, valueBytes int64, o WriteOptions) Shape {
	o = o.withDefaults()
	s := Shape{
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
