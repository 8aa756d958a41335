package shardfmt

// columnRanges counts the ranges of objects that the values of top-level columns lie in, column by column.
type columnRanges struct {
	// stripes are where the values of the column lie, by stripe.
	stripes         []stripeRange
	columns, ranges int64
}

// stripeRange encloses what a stripe has of a column.
type stripeRange struct {
	object     string
	start, end uint64
	// apart: what it has lies in several objects.
	apart bool
}

// sideBySide is how many bytes may lie between the values of two stripes that are one range: such are read by one request.
const sideBySide = 4 << 10

// begin starts a column of so many stripes.
func (c *columnRanges) begin(stripes int) {
	if c.stripes == nil {
		c.stripes = make([]stripeRange, stripes)
	}
	clear(c.stripes)
}

// add adds a range of the column in a stripe.
func (c *columnRanges) add(stripe int, object string, start, end uint64) {
	switch s := &c.stripes[stripe]; s.object {
	case "":
		*s = stripeRange{object, start, end, false}
	case object:
		s.start, s.end = min(s.start, start), max(s.end, end)
	default:
		s.apart = true
	}
}

// end counts the ranges of the column. Stripes without a value of it are passed over.
func (c *columnRanges) end() {
	ranges := int64(0)
	var last *stripeRange
	for i := range c.stripes {
		s := &c.stripes[i]
		if s.object == "" {
			continue
		}
		if last == nil || s.apart || last.apart || s.object != last.object || s.start < last.end || s.start-last.end > sideBySide {
			ranges++
		}
		last = s
	}
	if ranges > 0 {
		c.columns++
		c.ranges += ranges
	}
}

// mean is how many ranges a column has on average, rounded up; 0 if none has one.
func (c *columnRanges) mean() int64 {
	if c.columns == 0 {
		return 0
	}
	return (c.ranges + c.columns - 1) / c.columns
}
