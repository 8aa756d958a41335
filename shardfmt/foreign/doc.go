// Package foreign reads and writes records in the formats that others speak: NDJSON, CSV, Parquet and Arrow
// IPC, and prints tables for people.
//
// A Source yields canonical Arrow batches (package arrowtype) of one schema, which is given or inferred; a
// Sink takes them. Both stream: memory is bounded by the batch, and by the sample that inference looks at.
//
// # Values in text
//
// Package valuetext says how single values are written. In NDJSON every field is present and null is
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
// Without a schema the types come from the first InferRows records. A JSON object becomes a Struct of
// nullable fields in order of appearance; whole numbers become Int64, or UInt64 where they need it, and
// Float64 where one has a point or an exponent, or is NaN or infinity as a string; a string column becomes
// DateTime only if every value is an RFC 3339 time, Guid only if every value is a hyphenated guid. A field
// that is null throughout is a String. A type that changes, a field that appears later, a line that is no
// JSON, a short CSV row: each is an error that names file and line.
package foreign
