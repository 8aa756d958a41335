package manifest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
)

// maxSchemaBytes is how large the schema of a table may be as Iceberg's JSON: every manifest carries it in its head, and
// readers of Avro take no larger value there. Short names of plain columns make it some 17,800 columns.
const maxSchemaBytes = 1 << 20

// errTooManyColumns is a schema of more than 1 MiB as Iceberg's JSON.
var errTooManyColumns = errors.New("too many columns for a table")

// CheckSize refuses a schema that no manifest could carry.
func CheckSize(s *iceberg.Schema) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(text) > maxSchemaBytes {
		return fmt.Errorf("%w: the schema of %d columns takes %d bytes of the %d that a manifest holds (some 17,800 columns with short names): leave some out with a --schema that names those to keep and --unknown-fields drop, or keep objects with many keys whole as Dynamic",
			errTooManyColumns, s.NumFields(), len(text), maxSchemaBytes)
	}
	return nil
}
