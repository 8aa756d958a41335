package fault

import (
	"fmt"
	"slices"
	"sync"
)

// Play is a script while it is played. All methods may be called concurrently; the zero value plays none.
type Play struct {
	// Cannot are the faults that the player has no way to make: a script with one of them is refused.
	Cannot []string

	mu     sync.Mutex
	script script
	calls  map[string]func()
	counts map[string]int
}

// Set begins a new script, and to count again.
func (p *Play) Set(text string) error {
	s, err := parse(text)
	if err != nil {
		return err
	}
	for i := range s {
		if slices.Contains(p.Cannot, s[i].What) {
			return fmt.Errorf("%q can't be played here", s[i].What)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script, p.counts = s, map[string]int{}
	return nil
}

// Next counts a request and finds its rule.
func (p *Play) Next(kind, key string) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.counts[kind]++
	p.counts[anyKind]++
	return p.script.find(kind, key, p.counts[kind], p.counts[anyKind])
}

// Requests is how many requests of a kind ("any" for all) came since the script began.
func (p *Play) Requests(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[kind]
}

// Call names a function for the fault "call NAME".
func (p *Play) Call(name string, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[string]func(){}
	}
	p.calls[name] = do
}

// Run runs the function that a rule names, if there is one.
func (p *Play) Run(r *Rule) {
	p.mu.Lock()
	do := p.calls[r.Name]
	p.mu.Unlock()
	if do != nil {
		do()
	}
}

// walkLimit ends a walk whose runs never get by with fewer steps than have been broken.
const walkLimit = 10_000

// Walk breaks the first step of a run, then the second of another run, and so on, until a run made fewer steps than
// the number of the one to break. Run gets that number and returns how many steps the run made; an error ends the
// walk. Walk returns how many steps were broken.
func Walk(run func(n int) (steps int, err error)) (broken int, err error) {
	for n := 1; n <= walkLimit; n++ {
		steps, err := run(n)
		if err != nil {
			return broken, fmt.Errorf("step %d: %w", n, err)
		}
		if steps < n {
			return broken, nil
		}
		broken = n
	}
	return broken, fmt.Errorf("the walk did not end within %d steps", walkLimit)
}
