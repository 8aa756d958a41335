package foreign

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
)

// OpenSource opens what urls name as one stream of records: paths and URLs of objects, folders, prefixes,
// patterns, and "-". All inputs have one format, Options.Format or the one their names tell. Standard input
// is NDJSON if no format is given.
func OpenSource(ctx context.Context, sp *blobio.Client, urls []string, o SourceOptions) (Source, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	inputs, err := resolve(ctx, sp, urls)
	if err != nil {
		return nil, err
	}
	if o.Format == "" {
		if o.Format, err = commonFormat(inputs); err != nil {
			return nil, err
		}
	}
	open := func() *texts { return &texts{sp: sp, stdin: o.Stdin, inputs: inputs} }
	switch o.Format {
	case NDJSON:
		return newNDJSON(ctx, open, o)
	case CSV:
		return newCSV(ctx, open, o)
	}
	return newBatchSource(ctx, sp, inputs, o)
}

// commonFormat is the one format of all inputs, by their names.
func commonFormat(inputs []input) (Format, error) {
	var common Format
	for _, in := range inputs {
		f, known := formatOf(in.name)
		if in.url == "" {
			f, known = NDJSON, true
		}
		if !known {
			return "", fmt.Errorf("%s: its name tells no format: give one of ndjson, csv, parquet, arrow, lance, cole, layer", in.name)
		}
		if common != "" && f != common {
			return "", fmt.Errorf("%s is %s, and %s is %s: one run reads one format", inputs[0].name, common, in.name, f)
		}
		common = f
	}
	return common, nil
}
