package fileio

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
)

// OpenSource opens what urls name as one stream of records: paths and URLs of objects, folders, prefixes,
// patterns, named pipes, and "-". All inputs have one format: Options.Format, or the one their names tell, or, where a
// name reports none, their content.
func OpenSource(ctx context.Context, sp *blobio.Client, urls []string, o SourceOptions) (Source, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	inputs, err := resolve(ctx, sp, urls, o.Stdin)
	if err != nil {
		return nil, err
	}
	return openInputs(ctx, sp, inputs, o)
}

// Input is a file, or a folder that is one, as FindInputs found it.
type Input struct {
	// Name is what errors call it; URL is canonical; Size is in bytes.
	Name, URL string
	Size      int64
	// parts are the columns that the names of its folders give, and listed whether it was found in one.
	parts  []partition
	listed bool
}

// FindInputs finds what OpenSource would open. ok is false if something of it can be read once only, such as a pipe.
func FindInputs(ctx context.Context, sp *blobio.Client, urls []string) (found []Input, ok bool, err error) {
	inputs, err := resolve(ctx, sp, urls, nil)
	if err != nil {
		return nil, false, err
	}
	for _, in := range inputs {
		if in.stream != nil {
			return nil, false, nil
		}
		if in.size == 0 {
			if in.size, err = storedSize(ctx, sp, in.url); err != nil {
				return nil, false, err
			}
		}
		found = append(found, Input{in.name, in.url, in.size, in.parts, in.listed})
	}
	return found, true, nil
}

// OpenInputs is OpenSource for what FindInputs found.
func OpenInputs(ctx context.Context, sp *blobio.Client, found []Input, o SourceOptions) (Source, error) {
	inputs := make([]input, len(found))
	for i, f := range found {
		inputs[i] = input{name: f.Name, url: f.URL, size: f.Size, parts: f.parts, listed: f.listed}
	}
	return openInputs(ctx, sp, inputs, o)
}

func openInputs(ctx context.Context, sp *blobio.Client, inputs []input, o SourceOptions) (_ Source, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.Format == "" {
		if o.Format, err = commonFormat(ctx, sp, inputs); err != nil {
			return nil, err
		}
	}
	if err := o.checkUsed(); err != nil {
		return nil, err
	}
	if err := metered(ctx, sp, inputs, o); err != nil {
		return nil, err
	}
	if names := partitionNames(inputs, o.Warn); len(names) > 0 {
		return openPartitioned(ctx, sp, inputs, names, o)
	}
	return openFiles(ctx, sp, inputs, o)
}

// openFiles opens inputs of one format.
func openFiles(ctx context.Context, sp *blobio.Client, inputs []input, o SourceOptions) (Source, error) {
	open := func() *texts { return &texts{sp: sp, inputs: inputs, encoding: o.Encoding} }
	if o.Format != NDJSON && o.Format != CSV {
		return newBatchSource(ctx, sp, inputs, o)
	}
	ahead, err := lookAhead(ctx, inputs, open, o)
	if err != nil {
		return nil, err
	}
	if o.Format == NDJSON {
		return newNDJSON(ctx, open, ahead, o)
	}
	return newCSV(ctx, open, ahead, o)
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
			return "", fmt.Errorf("%s is %s, and %s is %s: load one format per run", inputs[0].name, common, in.name, f)
		}
		common = f
	}
	return common, nil
}
