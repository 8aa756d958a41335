package simd

// Steps are the requests to a series of numbers before it is encoded: its extremes and those of the differences of neighbours, all
// of them read as signed, how many values differ from the one before, and how many differences do.
type Steps[U Unsigned] struct {
	Least, Most         U
	StepLeast, StepMost U
	Changes             int
	StepChanges         int
}

// StepsOf looks at one value at least. Of one value there are no differences: StepLeast is the greatest number then and StepMost the
// least. The first difference is compared with 0.
func StepsOf[U Unsigned](vals []U) Steps[U] { return of[U]().steps(vals) }

// Extremes are the least and the greatest of integers, at least one.
func Extremes[T Integer](vals []T) (least, most T) {
	switch SizeOf[T]() {
	case 1:
		return extremesOf[T, uint8](vals)
	case 2:
		return extremesOf[T, uint16](vals)
	case 4:
		return extremesOf[T, uint32](vals)
	}
	return extremesOf[T, uint64](vals)
}

func extremesOf[T Integer, U Unsigned](vals []T) (least, most T) {
	flip := U(0)
	if ^T(0) > 0 {
		flip = 1 << (8*SizeOf[U]() - 1)
	}
	low, high := of[U]().extremes(Cast[U](vals), flip)
	return T(low), T(high)
}

func extremes[U Unsigned](vals []U, flip U) (least, most U) {
	flip ^= 1 << (8*SizeOf[U]() - 1) // so that unsigned order is that of what is read as signed
	least, most = vals[0]^flip, vals[0]^flip
	for _, v := range vals {
		least, most = min(least, v^flip), max(most, v^flip)
	}
	return least ^ flip, most ^ flip
}

// ChangesOf is Changes alone, of any values.
func ChangesOf[U Unsigned](vals []U) int {
	if len(vals) < 2 {
		return 0
	}
	return of[U]().changes(vals)
}

func changes[U Unsigned](vals []U) (n int) {
	top, last := 8*SizeOf[U]()-1, vals[0]
	for _, v := range vals[1:] {
		d := v ^ last
		last = v
		n += int((d | -d) >> top)
	}
	return n
}

// steps has two passes, each a function of its own, so that each has its counters in registers; nothing in them branches on the values.
func steps[U Unsigned](vals []U) Steps[U] {
	sign := U(1) << (8*SizeOf[U]() - 1)
	s := Steps[U]{StepLeast: sign - 1, StepMost: sign}
	s.Least, s.Most = vals[0], vals[0]
	s.extremes(vals)
	s.differences(vals[0], 0, vals[1:])
	return s
}

// extremes takes in more values.
//
//go:noinline
func (s *Steps[U]) extremes(vals []U) {
	sign := U(1) << (8*SizeOf[U]() - 1)
	least, most := s.Least^sign, s.Most^sign // biased, so that unsigned order is that of signed numbers
	for _, v := range vals {
		least, most = min(least, v^sign), max(most, v^sign)
	}
	s.Least, s.Most = least^sign, most^sign
}

// differences takes in those of more values; before them came last, and the difference lastStep.
//
//go:noinline
func (s *Steps[U]) differences(last, lastStep U, vals []U) {
	top := 8*SizeOf[U]() - 1
	sign := U(1) << top
	least, most := s.StepLeast^sign, s.StepMost^sign
	changes, stepChanges := 0, 0
	for _, v := range vals {
		d := v - last
		last = v
		least, most = min(least, d^sign), max(most, d^sign)
		changes += int((d | -d) >> top)
		dd := d ^ lastStep
		lastStep = d
		stepChanges += int((dd | -dd) >> top)
	}
	s.StepLeast, s.StepMost = least^sign, most^sign
	s.Changes, s.StepChanges = s.Changes+changes, s.StepChanges+stepChanges
}
