package column

// Sparse reports whether Pick needs no other blocks of a column than those that have selected positions: the others need not have
// been fetched.
func Sparse(c Column) bool {
	s, ok := c.(interface{ sparse() bool })
	return ok && s.sparse()
}

// Presence apart from the blocks is read from the first position to the last.
func (c *numberColumn[T]) sparse() bool  { return c.presence == nil }
func (c *boolColumn) sparse() bool       { return false }
func (c *bytesColumn) sparse() bool      { return c.presence == nil }
func (c *dictionaryColumn) sparse() bool { return c.presence == nil && !c.codes.Named }
func (c *nullColumn) sparse() bool       { return true }
func (c *constantColumn) sparse() bool   { return true }
func (c *structColumn) sparse() bool {
	if c.presence != nil {
		return false
	}
	for _, child := range c.children {
		if !Sparse(child) {
			return false
		}
	}
	return true
}
