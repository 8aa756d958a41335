// Package flights carries the data of the demo: flights out of New York in January 2013 (CC0, see README.md).
package flights

import _ "embed"

// January2013 is a gzip-compressed CSV file with a header and 27,004 records.
//
//go:embed 2013-01.csv.gz
var January2013 []byte

// Records is the number of records in January2013.
const Records = 27004
