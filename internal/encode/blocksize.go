package encode

import "github.com/shardcat/shardcat/internal/kernel"

// The size of numeric blocks. Small blocks are quicker to get a value from, and adapt better; large ones save
// what every block costs, and give a compressor more to find. Which of the two sizes is the better one is
// measured: a piece from the middle of the staged values is planned both ways.

const (
	// mapShare is the bytes of the block map that a block takes, where blocks differ in size.
	mapShare = 2 * 8
	// surveyEvery is how many flushes keep the size once chosen.
	surveyEvery = 4
)

// flushBlock is the size of the blocks of one flush.
func flushBlock[T kernel.Number](e *Encoder, vals []T, valid []byte) int {
	if e.o.Profile == Plain {
		return generalBlock
	}
	if len(vals) < 2*generalBlock {
		return max(e.blockSize, lightBlock)
	}
	if e.flushes++; e.flushes%surveyEvery != 1 {
		return e.blockSize
	}
	at := (len(vals) - generalBlock) / 2 &^ 7
	piece, bits := vals[at:at+generalBlock], from(valid, at)
	large := measure(e, piece, bits)
	small := 0
	for i := lightBlock; i < generalBlock; i += 2 * lightBlock {
		small += measure(e, piece[i:i+lightBlock], from(bits, i))
	}
	e.blockSize = lightBlock
	if small *= generalBlock / lightBlock / 2; small > large+large/100 {
		e.blockSize = generalBlock
	}
	return e.blockSize
}

// measure is the size that vals would have as one block, presence left out.
func measure[T kernel.Number](e *Encoder, vals []T, valid []byte) int {
	e.borrow()
	e.eager, e.measuring = true, true
	defer func() { e.eager, e.measuring = false, false }()
	p := planNumbers(e, vals, valid)
	return align8(8+p.size+4) + mapShare
}

// smallBuffer is the bytes of values from which on a buffer's last blocks are treated like the others: what
// could still be saved is no longer worth the time.
const smallBuffer = 128 << 10

// small: the buffer is, so far.
func (e *Encoder) small() bool { return e.cut < smallBuffer }

// lastBlocks cuts the last values, generalBlock at most, into blocks of the given size; those of a small
// buffer as they are, or in small blocks, with or without a last one that takes what doesn't fill a chunk of
// FastLanes, whichever is smallest.
func lastBlocks[T kernel.Number](e *Encoder, vals []T, valid []byte, size int) []int {
	e.last = e.last[:0]
	if len(vals) == 0 {
		return nil
	}
	if e.o.Profile == Plain || len(vals) <= kernel.ChunkLen {
		return append(e.last, len(vals))
	}
	if !e.small() {
		return e.evenly(len(vals), size)
	}
	best, cut := measure(e, vals, valid), 0
	for _, size := range [...]int{lightBlock, len(vals) &^ (kernel.ChunkLen - 1)} {
		if size >= len(vals) || size == cut {
			continue
		}
		total := 0
		for at := 0; at < len(vals); at += size {
			total += measure(e, vals[at:min(at+size, len(vals))], from(valid, at))
		}
		if total < best {
			best, cut = total, size
		}
	}
	if cut == 0 {
		return append(e.last, len(vals))
	}
	return e.evenly(len(vals), cut)
}

// evenly cuts n values into blocks of a size.
func (e *Encoder) evenly(n, size int) []int {
	for ; n > 0; n -= size {
		e.last = append(e.last, min(n, size))
	}
	return e.last
}
