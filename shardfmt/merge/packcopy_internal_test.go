package merge

// SetCopyLeast makes the store copy ranges from another size on, until the result is called.
func SetCopyLeast(n int64) (restore func()) { return set(&copyLeast, n) }

// SetLeastSpan lays out shorter spans by columns, until the result is called.
func SetLeastSpan(n int64) (restore func()) { return set(&leastSpan, n) }

// SetGroupSize bounds the groups, until the result is called.
func SetGroupSize(n int64) (restore func()) { return set(&groupSize, n) }

func set(v *int64, n int64) (restore func()) {
	before := *v
	*v = n
	return func() { *v = before }
}
