package fileio

// For the tests outside the package.
const (
	MaxFields     = maxFields
	NullPartition = nullPartition
)

var ErrTooManyFields = errTooManyFields
