package encode

import (
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// trials remembers how the encodings that are dear to try have fared, per level of the tree. One that keeps
// losing is tried on fewer and fewer blocks, but never given up.
type trials [block.Sparse + 1][4]trial

type trial struct {
	wait, losses uint8
	// won, while choices are cached: the encoding was the best of a stream.
	won bool
}

// maxLosses bounds the pause between two trials: 2^maxLosses − 1 blocks. The profiles with Zstd, which request size before time, try again sooner.
const maxLosses, maxLossesZstd = 6, 4

// denseLz4 stands for the exhaustive search of LZ4, which is not an encoding of its own.
const denseLz4 block.Code = 0

// try reports whether to try an encoding now, and notes in tried that it was.
func (e *Encoder) try(c block.Code, sc scope, tried *codeSet) bool {
	l := &e.trials[c][sc.level]
	if l.wait > 0 && !e.eager {
		l.wait -= min(l.wait, max(1, e.trialStep))
		return false
	}
	*tried |= setOf(c)
	if !l.won {
		e.tries++
	}
	return true
}

// learn takes the outcome: which encodings were tried, and which one of them, if any, was the best.
func (e *Encoder) learn(sc scope, tried codeSet, best block.Code) {
	if !e.learns() {
		return
	}
	most := uint8(maxLosses)
	if e.rules.general == block.Zstd {
		most = maxLossesZstd
	}
	for c := range block.Sparse + 1 {
		if !tried.has(c) {
			continue
		}
		l := &e.trials[c][sc.level]
		if c == best {
			l.losses = 0
			if e.eager { // of a buffer whose choices are cached
				l.wait, l.won = 0, true
			}
			continue
		}
		switch {
		case l.won:
			continue
		case e.eager:
			l.wait = math.MaxUint8
			continue
		}
		l.losses = min(l.losses+1, most)
		l.wait = 1<<l.losses - 1
	}
}
