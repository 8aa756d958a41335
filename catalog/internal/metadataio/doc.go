// Package metadataio is iceberg-go's IO over blobio: metadata files, manifests and manifest lists.
//
// A Store reads and writes them through one Client, with a cache of the files that never change. Confine limits the reads of a table to the
// places where its files may lie, Within binds requests to one call, and ReadBackLater moves the verification of written files behind the
// upload, to be done before the commit that names them. Encode and Decompress are the bytes of a metadata file.
package metadataio
