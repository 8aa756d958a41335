package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
	"github.com/shardcat/shardcat/urlresolve"
)

// Stdin is the name of standard input among the inputs.
const Stdin = "-"

// input is one file or object to read.
type input struct {
	// name is what errors call it.
	name string
	// url is canonical; empty for a stream.
	url string
	// stream is set for what can be read once only.
	stream *stream
	// ahead, if not nil, reads the stream, decoded, from its beginning.
	ahead *lookahead
	// size in bytes, 0 if it isn't known; meter counts what is read of it, nil if nobody asks.
	size  int64
	meter *meter
	// parts are the columns that the names of its folders give; listed: it was found in a folder, or by a pattern.
	parts  []partition
	listed bool
}

// ErrNoInput is a folder, prefix or pattern that no object matches.
var ErrNoInput = errors.New("no input matches")

// resolve finds the inputs that arguments name: objects, folders and prefixes with all that lies below them,
// patterns of path.Match behind a fixed folder, and "-". What a folder, prefix or pattern finds comes in key
// order; hidden files (._ at the start of a name) and those of no known format are passed over.
func resolve(ctx context.Context, sp *blobio.Client, args []string, stdin io.Reader) ([]input, error) {
	var all []input
	for _, arg := range args {
		found, err := resolveOne(ctx, sp, arg, stdin)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, ErrNoInput
	}
	return all, nil
}

func resolveOne(ctx context.Context, sp *blobio.Client, arg string, stdin io.Reader) ([]input, error) {
	if arg == Stdin {
		return []input{{name: "stdin", stream: &stream{from: stdin}}}, nil
	}
	if s := streamAt(arg); s != nil {
		return []input{{name: arg, stream: s}}, nil
	}
	if base, pattern := splitPattern(arg); pattern != "" && !isFile(arg) {
		return matching(ctx, sp, arg, base, pattern)
	}
	url, err := sp.Mount(ctx, arg)
	if err != nil {
		return nil, err
	}
	if isFolderFormat(arg) && strings.HasSuffix(url, "/") {
		return []input{{name: display(arg), url: strings.TrimSuffix(url, "/")}}, nil
	}
	if !strings.HasSuffix(url, "/") {
		info, err := sp.Stat(ctx, url)
		if err == nil {
			return []input{{name: display(arg), url: url, size: info.Size}}, nil
		}
		if !errors.Is(err, blobio.ErrNotFound) {
			return nil, err
		}
		if isFolderFormat(arg) {
			return []input{{name: display(arg), url: url}}, nil
		}
	}
	return below(ctx, sp, arg, url)
}

// versionsFolder is the folder of the manifests of a Lance dataset: what has one is a dataset, whatever its name, and its data files
// are no inputs by themselves, for they hold rows that are deleted or overwritten.
const versionsFolder = "/_versions/"

// isDataset reports whether the folder at url is a Lance dataset.
func isDataset(ctx context.Context, st fileformat.Store, url string) (bool, error) {
	for _, err := range st.List(ctx, strings.TrimSuffix(url, "/")+versionsFolder) {
		if errors.Is(err, blobio.ErrNotFound) {
			break
		}
		return err == nil, err
	}
	return false, nil
}

// datasetInput is the input of a dataset; its name ends in a slash, so that no other ending of it is taken for a format.
func datasetInput(name, url string) input {
	return input{name: strings.TrimSuffix(name, "/") + "/", url: strings.TrimSuffix(url, "/")}
}

// datasetOf returns the dataset that an object below prefix is a part of, by its manifests' folder, or an empty string.
func datasetOf(prefix, url string) string {
	if i := strings.Index(url[max(0, strings.LastIndexByte(prefix, '/')):], versionsFolder); i >= 0 {
		return url[:max(0, strings.LastIndexByte(prefix, '/'))+i]
	}
	return ""
}

// isFile reports whether a path, as it is written, is that of something in the file system: then it is not a pattern.
func isFile(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil
}

// isFolderFormat reports whether a name is that of a format whose files may be folders.
func isFolderFormat(name string) bool {
	f, _ := formatOf(name)
	return f.File() != nil && f.File().Folders
}

// folderOf is the folder of such a format that an object below prefix belongs to, or empty: its parts are not inputs by
// themselves, for what they hold may be deleted.
func folderOf(prefix, url string) string {
	names := strings.Split(strings.TrimPrefix(url, prefix), "/")
	for i := range len(names) - 1 {
		if isFolderFormat(names[i]) {
			return strings.TrimSuffix(url, strings.Join(names[i+1:], "/"))
		}
	}
	return ""
}

// display is an argument as errors may show it, without secrets.
func display(arg string) string {
	if strings.Contains(arg, "://") {
		return urlresolve.Redact(arg)
	}
	return arg
}

// below lists a folder or, where there is none of that name, the objects with that prefix.
func below(ctx context.Context, sp *blobio.Client, arg, url string) ([]input, error) {
	prefixes := []string{strings.TrimSuffix(url, "/") + "/", url}
	for _, prefix := range prefixes {
		found, err := list(ctx, sp, prefix, func(string) bool { return true })
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", display(arg), errors.Join(ErrNoInput, blobio.ErrNotFound))
}

// splitPattern parts an argument before its first name with a wildcard; without one pattern is empty.
func splitPattern(arg string) (base, pattern string) {
	rest := arg
	if i := strings.Index(arg, "://"); i >= 0 {
		rest = arg[i+3:]
		if q := strings.IndexByte(rest, '?'); q >= 0 {
			rest = rest[:q] // options, not a wildcard
		}
	}
	wild := strings.IndexAny(rest, "*?[")
	if wild < 0 {
		return "", ""
	}
	at := len(arg) - len(rest)
	if strings.Contains(arg, "://") {
		at = strings.Index(arg, "://") + 3
	}
	slash := strings.LastIndexByte(rest[:wild], '/')
	if slash < 0 {
		return "./", rest
	}
	return arg[:at+slash+1], rest[slash+1:]
}

// matching lists what matches a pattern below a folder. Options of a URL stand behind the pattern.
func matching(ctx context.Context, sp *blobio.Client, arg, base, pattern string) ([]input, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", display(arg), err)
	}
	mount := base
	if i := strings.Index(arg, "://"); i >= 0 {
		if q := strings.IndexByte(arg, '?'); q >= 0 {
			mount += arg[q:]
		}
	}
	url, err := sp.Mount(ctx, mount)
	if err != nil {
		return nil, err
	}
	url = strings.TrimSuffix(url, "/") + "/"
	literal := pattern[:strings.IndexAny(pattern, "*?[")]
	found, err := list(ctx, sp, url+urlresolve.EscapeKey(literal), func(object string) bool {
		ok, _ := path.Match(pattern, unescape(strings.TrimPrefix(object, url)))
		return ok
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: %w", display(arg), errors.Join(ErrNoInput, blobio.ErrNotFound))
	}
	return found, err
}

func list(ctx context.Context, sp *blobio.Client, prefix string, want func(url string) bool) ([]input, error) {
	var found []input
	folders, datasets := map[string]bool{}, map[string]bool{}
	for info, err := range sp.List(ctx, prefix) {
		if errors.Is(err, blobio.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		if folder := strings.TrimSuffix(folderOf(prefix, info.URL), "/"); folder != "" {
			folders[folder] = true
			continue
		}
		if folder := datasetOf(prefix, info.URL); folder != "" {
			datasets[folder] = true
			continue
		}
		name := path.Base(info.Key)
		if _, known := formatOf(name); !known || name[0] == '.' || name[0] == '_' || !want(info.URL) {
			continue
		}
		found = append(found, input{name: info.URL, url: info.URL, size: info.Size})
	}
	found = slices.DeleteFunc(found, func(in input) bool { return within(in.url, datasets) })
	for folder := range folders {
		if want(folder) {
			found = append(found, input{name: folder, url: folder})
		}
	}
	for folder := range datasets {
		if want(folder) && !within(folder, datasets) {
			found = append(found, datasetInput(folder, folder))
		}
	}
	slices.SortFunc(found, func(a, b input) int { return strings.Compare(a.url, b.url) })
	folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
	for i := range found {
		below := strings.TrimPrefix(found[i].url, folder)
		if len(below) == len(found[i].url) { // the dataset that the folder is
			below = ""
		}
		found[i].parts, found[i].listed = partitionsOf(unescape(below)), true
	}
	return found, nil
}

// within reports whether an object lies below one of the folders.
func within(url string, folders map[string]bool) bool {
	if len(folders) == 0 {
		return false
	}
	for i := strings.LastIndexByte(url, '/'); i > 0; i = strings.LastIndexByte(url[:i], '/') {
		if folders[url[:i]] {
			return true
		}
	}
	return false
}

// unescape turns the key of a canonical URL into the name a pattern is compared with.
func unescape(key string) string {
	at, err := urlresolve.Parse("file:///" + key)
	if err != nil {
		return key
	}
	return at.Key()
}

// formats by the ending of a name.
var formats = map[string]Format{
	".ndjson": NDJSON, ".jsonl": NDJSON, ".json": NDJSON,
	".csv": CSV, ".tsv": CSV,
	".parquet": Parquet, ".pq": Parquet,
	".arrow": Arrow, ".arrows": Arrow, ".ipc": Arrow, ".feather": Arrow,
}

// formatOf is the format that a name reports, behind the ending of a compression.
func formatOf(name string) (Format, bool) {
	folder := strings.HasSuffix(name, "/")
	name = strings.ToLower(path.Base(name))
	for _, packed := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	if f, ok := formats[path.Ext(name)]; ok && !folder {
		return f, true
	}
	for _, f := range Files {
		if f.Named(name) {
			return Format(f.Name), true
		}
	}
	return "", false
}

// FormatOf reports a format by the name of a file.
func FormatOf(name string) (Format, bool) { return formatOf(name) }

// open starts reading an input from its beginning, unpacked.
func (in input) open(ctx context.Context, sp *blobio.Client) (io.ReadCloser, error) {
	if in.stream != nil {
		return in.stream.take(ctx)
	}
	r, _, err := sp.Open(ctx, in.url, 0)
	if err != nil {
		return nil, err
	}
	return unpack(in.meter.reader(r))
}
