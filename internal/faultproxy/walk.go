package faultproxy

import "fmt"

// walkLimit ends a walk whose runs never get by with fewer requests than have been broken.
const walkLimit = 10_000

// Walk breaks the first request of a run, then the second of another run, and so on, until a run ends that
// made fewer requests than the number of the one to break. Run gets that number and returns an error to end
// the walk. Walk returns how many requests were broken.
func Walk(p *Proxy, what string, run func(n int) error) (broken int, err error) {
	for n := 1; n <= walkLimit; n++ {
		if err := p.Set(fmt.Sprintf("any %d: %s", n, what)); err != nil {
			return broken, err
		}
		if err := run(n); err != nil {
			return broken, fmt.Errorf("request %d, %s: %w", n, what, err)
		}
		if p.Count() < n {
			return broken, p.Set("")
		}
		broken = n
	}
	return broken, fmt.Errorf("the walk did not end within %d requests", walkLimit)
}
