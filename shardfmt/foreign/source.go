package foreign

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
)

// OpenSource opens what urls name as one stream of records: paths and URLs of objects, folders, prefixes,
// patterns, named pipes, and "-". All inputs have one format: Options.Format, or the one their names tell, or, where a
// name tells none, their content.
func OpenSource(ctx context.Context, sp *blobio.Client, urls []string, o SourceOptions) (Source, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	inputs, err := resolve(ctx, sp, urls, o.Stdin)
	if err != nil {
		return nil, err
	}
	if o.Format == "" {
		if o.Format, err = commonFormat(ctx, sp, inputs); err != nil {
			return nil, err
		}
	}
	if err := metered(ctx, sp, inputs, o); err != nil {
		return nil, err
	}
	open := func() *texts { return &texts{sp: sp, inputs: inputs} }
	switch o.Format {
	case NDJSON:
		return newNDJSON(ctx, open, o)
	case CSV:
		return newCSV(ctx, open, o)
	}
	return newBatchSource(ctx, sp, inputs, o)
}

// commonFormat is the one format of all inputs, by their names or their content.
func commonFormat(ctx context.Context, sp *blobio.Client, inputs []input) (Format, error) {
	var common Format
	for _, in := range inputs {
		f, known := formatOf(in.name)
		if !known {
			var err error
			if f, err = in.contentFormat(ctx, sp); err != nil {
				return "", err
			}
		}
		if common != "" && f != common {
			return "", fmt.Errorf("%s is %s, and %s is %s: one run reads one format", inputs[0].name, common, in.name, f)
		}
		common = f
	}
	return common, nil
}
