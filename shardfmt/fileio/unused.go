package fileio

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
)

// CheckSettings refuses settings that reading the format has no use for: an option that is given has an effect.
func (f Format) CheckSettings(given fileformat.Settings) error {
	return checkSettings(f, given, func(o fileformat.Option) bool { return o.Read })
}

func checkSettings(f Format, given fileformat.Settings, used func(fileformat.Option) bool) error {
	file := f.File()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if file == nil || !slices.ContainsFunc(file.Options, func(o fileformat.Option) bool { return o.Name == name && used(o) }) {
			return &fileformat.OptionError{Name: name, Value: given[name], What: "the format " + string(f) + " has no such option"}
		}
	}
	return nil
}

// CheckConversion refuses settings that neither reading the format nor writing another has a use for, and returns those for
// reading.
func (f Format) CheckConversion(to Format, read, write fileformat.Settings) (fileformat.Settings, error) {
	forReading := maps.Clone(read)
	maps.DeleteFunc(forReading, func(name, value string) bool {
		return f.CheckSettings(fileformat.Settings{name: value}) != nil
	})
	for _, given := range []fileformat.Settings{read, write} {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			err := checkSettings(to, fileformat.Settings{name: given[name]}, func(o fileformat.Option) bool { return o.Write })
			if _, reads := forReading[name]; err != nil && !reads {
				return nil, &fileformat.OptionError{Name: name, Value: given[name], What: "neither " + string(f) + " nor " + string(to) + " has such an option"}
			}
		}
	}
	return forReading, nil
}

// checkUsed refuses options for text that the format of the inputs has no use for.
func (o SourceOptions) checkUsed() error {
	const ofCSV, ofText = "it applies to csv, but the input is ", "it applies to ndjson and csv, but the input is "
	refuse := func(name, value, what string) error {
		return &fileformat.OptionError{Name: name, Value: value, What: what + string(o.Format)}
	}
	if o.Format != CSV {
		switch {
		case o.Comma != 0:
			return refuse("comma", string(o.Comma), ofCSV)
		case o.Header != AutoHeader:
			return refuse("header", string(o.Header), ofCSV)
		case o.Quote != 0:
			return refuse("quote", string(rune(o.Quote)), ofCSV)
		case o.Escape != 0:
			return refuse("escape", string(rune(o.Escape)), ofCSV)
		case o.Comment != 0:
			return refuse("comment", string(rune(o.Comment)), ofCSV)
		case o.Skip != 0:
			return refuse("skip", strconv.Itoa(o.Skip), ofCSV)
		case o.Pad:
			return refuse("pad", "true", ofCSV)
		case o.Decimal != 0:
			return refuse("decimal", string(rune(o.Decimal)), ofCSV)
		case o.Thousands != 0:
			return refuse("thousands", string(rune(o.Thousands)), ofCSV)
		case o.Reject != nil:
			return refuse("reject-file", "given", ofCSV)
		case len(o.Nulls) > 0:
			return refuse("null", o.Nulls[0], ofCSV)
		}
	}
	if o.Format != CSV && o.Format != NDJSON {
		switch {
		case o.Encoding != AutoEncoding:
			return refuse("encoding", string(o.Encoding), ofText)
		case len(o.DateFormats) > 0:
			return refuse("date-format", o.DateFormats[0], ofText)
		case o.InferRows != DefaultInferRows:
			return refuse("infer-rows", strconv.Itoa(max(0, o.InferRows)), ofText)
		case o.TimeZone != nil && o.TimeZone != time.UTC:
			return refuse("time-zone", o.TimeZone.String(), ofText)
		}
	}
	return o.Format.CheckSettings(o.Settings)
}
