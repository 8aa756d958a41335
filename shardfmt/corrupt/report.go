package corrupt

import "errors"

// Finding is one thing that is wrong with stored data.
type Finding struct {
	// Object is the canonical URL of the object; Offset is in bytes from its start, -1 where none applies.
	Object string `json:"object"`
	Offset int64  `json:"offset"`
	What   string `json:"what"`
}

// Report is what a check of stored data found. Its JSON form is part of the command line's contract.
type Report struct {
	OK bool `json:"ok"`
	// Objects that were reached, and Bytes of them that were read and checked.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// UnprotectedBytes could change without anything noticing: no checksum covers them, no rule fixes them.
	UnprotectedBytes int64     `json:"unprotected_bytes"`
	Errors           []Finding `json:"errors"`
	// Warnings are no damage: an object that the URL list lacks, an unusual name.
	Warnings []string `json:"warnings,omitempty"`
}

// Judge makes a finding of an error of stored data, and gives back any other.
func (r *Report) Judge(err error) error {
	var damage *Error
	if !errors.As(err, &damage) {
		return err
	}
	r.Errors = append(r.Errors, Finding{Object: damage.Object, Offset: damage.Offset, What: damage.What})
	return nil
}
