package lance

// sharedItems are the items of a dictionary that pages of one column have in common. They are gathered while pages of indices
// are written, and go into buffers of the column when no more of those come: only then is known how they are encoded.
type sharedItems struct {
	values   pageBuilder // until they are written
	count    uint64
	encoding []byte // once they are
}

// share writes the items that pages of a column have in common, if any.
func (o *output) share(c *columnOutput) error {
	s := c.items
	if s == nil {
		return nil
	}
	c.items = nil
	p := pageEncoder{place: ofColumn, first: len(c.buffers)}
	var err error
	if s.encoding, err = s.values.encode(&p); err != nil {
		return err
	}
	s.values = nil
	for _, b := range p.buffers {
		x, err := o.put(b)
		if err != nil {
			return err
		}
		c.buffers = append(c.buffers, x)
	}
	return nil
}

// dictionaryOf is the encoding of indices and what they stand for.
func dictionaryOf(indices, items []byte, count uint64) []byte {
	return arrayEncoding(dictionaryKind, appendNumber(appendMessage(appendMessage(nil, 1, indices), 2, items), 3, count))
}

// commonTexts are strings that many pages of a column store once together.
type commonTexts struct {
	sharedItems
	texts texts
	known map[string]byte // indices, counted from 1
}

// hasRoom reports whether the strings of a page can be added.
func (c *commonTexts) hasRoom(items *texts, most int) bool {
	n := len(c.known)
	items.each(func(b []byte) {
		if _, known := c.known[string(b)]; !known {
			n++
		}
	})
	return n < dictionaryItems && len(c.texts.bytes) < most
}

// add gives the strings of a page, counted from 1, their indices among those of all pages.
func (c *commonTexts) add(items *texts) (indices [dictionaryItems]byte) {
	at := 0
	items.each(func(b []byte) {
		at++
		index, known := c.known[string(b)]
		if !known {
			index = byte(len(c.known) + 1)
			c.known[string(b)] = index
			c.texts.append(b)
		}
		indices[at] = index
	})
	c.count = uint64(len(c.known))
	return indices
}

// each visits the strings, none of which is null.
func (t *texts) each(visit func(b []byte)) {
	start := uint64(0)
	for _, end := range t.ends {
		visit(t.bytes[start:end])
		start = end
	}
}

// shared encodes indices of the strings of a page as indices of those that it has in common with other pages.
func (t *texts) shared(p *pageEncoder, indices []byte, items *texts) []byte {
	if t.common == nil || !t.common.hasRoom(items, t.most) {
		t.common = &commonTexts{known: map[string]byte{}}
		t.common.values = &t.common.texts
	}
	p.items = &t.common.sharedItems
	among := t.common.add(items)
	for i, index := range indices {
		indices[i] = among[index]
	}
	return noNulls(p.flat(8, indices))
}
