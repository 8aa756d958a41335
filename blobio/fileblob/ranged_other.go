//go:build !linux

package fileblob

import "os"

// rangedFile is a file that is opened for reads of ranges.
type rangedFile struct{ *os.File }

// open opens a file as openFile does.
func (f *rangedFile) open(path string) (err error) {
	f.File, err = openFile(path)
	return err
}

// state is the state of the file at this time.
func (f *rangedFile) state() (fileState, error) {
	st, err := f.Stat()
	if err != nil {
		return fileState{}, err
	}
	return stateOf(st), nil
}
