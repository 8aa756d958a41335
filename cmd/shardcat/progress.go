package main

import "github.com/shardcat/shardcat/internal/progress"

// checkProgress checks the --progress flag.
func (a *app) checkProgress() error {
	if _, err := progress.ParseMode(a.progressMode); err != nil {
		return usagef("invalid argument %q for --progress: auto, always or never", a.progressMode)
	}
	return nil
}

// inputBar is a bar of what is read of inputs.
func (a *app) inputBar(what, unit string) (*progress.Bar, func(read, total int64)) {
	bar := a.bar(what, unit, 0)
	if bar == nil {
		return nil, nil
	}
	return bar, bar.At
}

// bar starts a progress bar on stderr by the --progress flag; total is 0 where nobody knows it. A bar is drawn
// where a person looks at stderr, also when stdout goes to a file.
func (a *app) bar(what, unit string, total int64) *progress.Bar {
	mode, err := progress.ParseMode(a.progressMode)
	if err != nil {
		mode = progress.Never // the flag was checked when it was read
	}
	return progress.New(a.stderr, mode.On(isTerminal(a.stderr)), what, unit, total)
}
