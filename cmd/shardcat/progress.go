package main

import "github.com/shardcat/shardcat/internal/progress"

// bar starts a progress bar on stderr by the --progress flag; total is 0 where nobody knows it.
func (a *app) bar(what, unit string, total int64) *progress.Bar {
	mode, err := progress.ParseMode(a.progressMode)
	if err != nil {
		mode = progress.Never // the flag was checked when it was read
	}
	watched := isTerminal(a.stderr) && isTerminal(a.stdout)
	return progress.New(a.stderr, mode, watched, what, unit, total)
}
