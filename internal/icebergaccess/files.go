package icebergaccess

import "strings"

// MaxFile bounds what is read as one metadata file, manifest or manifest list.
const MaxFile = 256 << 20

// Canonical spells a location as blobio takes it: Spark writes file:/x, older clients plain paths.
func Canonical(location string) string {
	switch {
	case strings.HasPrefix(location, "/"):
		return "file://" + location
	case strings.HasPrefix(location, "file:/") && !strings.HasPrefix(location, "file://"):
		return "file://" + strings.TrimPrefix(location, "file:")
	}
	return location
}
