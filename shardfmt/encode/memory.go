package encode

// trials remembers how an encoding that is dear to try has fared, per level of the tree. One that keeps
// losing is tried on fewer and fewer blocks, but never given up.
type trials struct {
	levels [4]struct{ wait, losses int }
}

// maxLosses bounds the pause between two trials: 2^maxLosses − 1 blocks.
const maxLosses = 4

// due tells whether to try now.
func (t *trials) due(sc scope) bool {
	l := &t.levels[sc.level]
	if l.wait > 0 {
		l.wait--
		return false
	}
	return true
}

// report takes the outcome of a trial.
func (t *trials) report(sc scope, won bool) {
	l := &t.levels[sc.level]
	if won {
		l.losses = 0
		return
	}
	l.losses = min(l.losses+1, maxLosses)
	l.wait = 1<<l.losses - 1
}
