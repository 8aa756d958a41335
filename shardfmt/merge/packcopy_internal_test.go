package merge

// SetCopyLeast makes the store copy ranges from another size on, until the result is called.
func SetCopyLeast(n int64) (restore func()) {
	before := copyLeast
	copyLeast = n
	return func() { copyLeast = before }
}
