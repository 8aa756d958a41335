// Package blobfake is what tests of this module's drivers and readers share beside the suite of blobtest: servers that
// answer like S3 and Azure, buckets that fail by a script or are as slow as a cloud's, and the tests of what drivers make of
// answers and URLs.
package blobfake
