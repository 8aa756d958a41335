package arrowhttp

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// Media types of rows.
const (
	typeArrow  = "application/vnd.apache.arrow.stream"
	typeNDJSON = "application/x-ndjson"
	typeCSV    = "text/csv"
)

// forms are the formats of rows by media type, the first for who takes any: lines that people and programs read.
var forms = []struct {
	media  string
	format fileio.Format
}{
	{typeNDJSON, fileio.NDJSON},
	{"application/jsonl", fileio.NDJSON},
	{"application/x-jsonlines", fileio.NDJSON},
	{typeArrow, fileio.ArrowStream},
	{typeCSV, fileio.CSV},
}

// form is how rows are written.
type form struct {
	format fileio.Format
	media  string
	// packed: buffers of Arrow are compressed. encoding is the Content-Encoding of text, "" for none.
	packed   bool
	encoding string
	timeUnit string
}

// formOf negotiates: the parameter format wins, for programs that can't send headers, else Accept decides.
func formOf(r *http.Request, q url.Values) (form, error) {
	named, err := oneOf(q, "format", "", "arrow", "ndjson", "csv")
	if err != nil {
		return form{}, err
	}
	f := form{}
	switch named {
	case "arrow":
		f.format, f.media = fileio.ArrowStream, typeArrow
	case "ndjson":
		f.format, f.media = fileio.NDJSON, typeNDJSON
	case "csv":
		f.format, f.media = fileio.CSV, typeCSV
	default:
		if f, err = accepted(strings.Join(r.Header.Values("Accept"), ",")); err != nil {
			return f, err
		}
	}
	packing, err := oneOf(q, "compression", "zstd", "none")
	if err != nil {
		return f, err
	}
	if f.timeUnit, err = timeUnit(q); err != nil {
		return f, err
	}
	f.packed = packing == "zstd"
	if f.format != fileio.ArrowStream && f.packed {
		f.encoding = encodingOf(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	}
	return f, nil
}

// accepted chooses the form that the header Accept likes most, and of several the most particular.
func accepted(accept string) (form, error) {
	best, most, found := form{}, 0.0, false
	if strings.TrimSpace(accept) == "" {
		accept = "*/*"
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := quality(params["q"])
		for _, f := range forms {
			if score := q * closeness(media, f.media); score > most {
				best, most, found = form{format: f.format, media: f.media}, score, true
			}
		}
	}
	if !found {
		return best, &problem{Status: http.StatusNotAcceptable, Code: "usage",
			Detail: "rows are " + typeArrow + ", " + typeNDJSON + " or " + typeCSV + "; Accept names none of them"}
	}
	return best, nil
}

// closeness is 1 for a type itself, a little less for a pattern it fits, 0 for another.
func closeness(pattern, media string) float64 {
	whole, _, _ := strings.Cut(media, "/")
	switch pattern {
	case media:
		return 1
	case whole + "/*":
		return 0.9999
	case "*/*":
		return 0.9998
	}
	return 0
}

func quality(q string) float64 {
	if q == "" {
		return 1
	}
	v, err := strconv.ParseFloat(q, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return 0
	}
	return v
}

// encodingOf chooses a Content-Encoding: zstd, else gzip, if the client takes it, "" for none.
func encodingOf(accept string) (chosen string) {
	most := 0.0
	for part := range strings.SplitSeq(accept, ",") {
		name, rest, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		_, q, _ := strings.Cut(rest, "=")
		score := quality(strings.TrimSpace(q))
		if name == "zstd" {
			score *= 1.0001
		}
		if (name == "zstd" || name == "gzip") && score > most {
			chosen, most = name, score
		}
	}
	return chosen
}
