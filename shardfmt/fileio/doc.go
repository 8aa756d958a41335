// Package fileio reads and writes records in the formats that others speak: NDJSON, CSV, Parquet and Arrow
// IPC, and prints tables for people.
//
// A Source yields canonical Arrow batches (package arrowtype) of one schema, which is given or inferred; a
// Sink takes them. Both stream: memory is bounded by the batch, and by the sample that inference looks at.
//
// # Values in text
//
// Package valuetext reports how single values are written. In NDJSON every field is present and null is
// printed; 64-bit integers are plain numbers and never pass through a float64; NaN and the infinities are
// strings, and so are decimals; byte strings are base64 with padding; a map is an array of
// {"key": …, "value": …}; a union is the bare value, read as the first declared variant that holds it
// exactly; a dynamic value is nested JSON where its bytes are JSON text, else base64.
//
// In CSV a field is the same text without JSON's quotes; nested values are JSON text in one field. An
// unquoted empty field is null, a quoted one the empty string.
//
// # Inference
//
// Without a schema the types come from the first InferRows records; docs/reference/inference.md has the rules. A JSON object becomes
// a Struct of nullable fields in order of appearance, what changes its kind becomes Dynamic, a CSV column of many
// kinds a String. A field that appears later, a value that the type doesn't hold, a document that is no JSON, a short CSV
// row: each is an error that names file and line, and the option that would take it. InferenceOf reports what was found.
package fileio
