//go:build !linux

package fileblob

import "os"

// rangedFile is a file that is opened for reads of ranges.
type rangedFile struct{ *os.File }

// openRanged opens a file as openFile does.
func openRanged(path string) (*rangedFile, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	return &rangedFile{f}, nil
}

// state tells of the file as it is now.
func (f *rangedFile) state() (fileState, error) {
	st, err := f.Stat()
	if err != nil {
		return fileState{}, err
	}
	return stateOf(st), nil
}
