package arrowhttp

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The parameters of each path. What is not among them is refused: one that is ignored would be a wrong answer.
var (
	atParameters   = []string{"snapshot", "as-of", "ref"}
	scanParameters = append([]string{"where", "select"}, atParameters...)
	rowParameters  = []string{"format", "compression", "time-unit"}

	tablesTakes = []string{"namespace"}
	tableTakes  = []string{"time-unit"}
	planTakes   = append([]string{"split-size"}, scanParameters...)
	rowsTakes   = slices.Concat(scanParameters, rowParameters, []string{"order-by", "limit", "task"})
	taskTakes   = rowParameters
	appendTakes = []string{"job-id"}
	runTakes    = []string{"part"}
)

// neverEmpty are the parameters that choose rows or name a delivery: an empty one, as from an unset variable, would be ignored.
var neverEmpty = append([]string{"job-id", "order-by", "part", "task"}, scanParameters...)

// parameters are those of a request, each given once.
func parameters(r *http.Request, takes ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: the query of the URL: %w", catalog.ErrInvalid, err)
	}
	for name, values := range q {
		switch {
		case !slices.Contains(takes, name):
			return nil, fmt.Errorf("%w: unknown parameter %q: this path takes %q", catalog.ErrInvalid, name, takes)
		case len(values) > 1:
			return nil, fmt.Errorf("%w: parameter %q is given %d times", catalog.ErrInvalid, name, len(values))
		case values[0] == "" && slices.Contains(neverEmpty, name):
			return nil, fmt.Errorf("%w: empty parameter %q; omit it to use its default", catalog.ErrInvalid, name)
		}
	}
	return q, nil
}

// scanOptions reads what to scan.
func scanOptions(q url.Values) (o catalog.ScanOptions, err error) {
	o.Ordered = true
	if o.At, err = at(q); err != nil {
		return o, err
	}
	o.Select = schema.ParsePaths(q.Get("select"))
	if text := q.Get("where"); text != "" {
		if o.Where, err = filter.Parse(text); err != nil {
			return o, fmt.Errorf("%w: where: %w", catalog.ErrInvalid, err)
		}
	}
	if q.Has("limit") {
		limit, err := count(q, "limit", 0)
		if err != nil {
			return o, err
		}
		if o.Limit = limit; limit == 0 {
			o.Limit = catalog.NoRows
		}
	}
	if !q.Has("order-by") {
		return o, nil
	}
	if o.Limit == 0 || o.Limit > maxOrdered {
		return o, fmt.Errorf("%w: order-by: needs a limit of at most %d rows: %q", catalog.ErrInvalid, maxOrdered, q.Get("limit"))
	}
	o.OrderBy, err = catalog.ParseOrder(q.Get("order-by"))
	return o, err
}

// maxOrdered is the largest limit of rows in an order: a request without one would sort a table in the server's temporary folder.
const maxOrdered = 100_000

// at reads which state of the table is meant.
func at(q url.Values) (at catalog.At, err error) {
	given := 0
	for _, name := range atParameters {
		if q.Has(name) {
			given++
		}
	}
	if given > 1 {
		return at, fmt.Errorf("%w: snapshot, as-of and ref exclude each other", catalog.ErrInvalid)
	}
	at.Ref = q.Get("ref")
	if q.Has("snapshot") {
		if at.SnapshotID, err = count(q, "snapshot", 1); err != nil {
			return at, err
		}
	}
	if q.Has("as-of") {
		when, err := time.Parse(time.RFC3339Nano, q.Get("as-of"))
		if at = catalog.AtTime(when); err != nil {
			return at, fmt.Errorf("%w: as-of: %q is not an RFC 3339 time", catalog.ErrInvalid, q.Get("as-of"))
		}
	}
	return at, nil
}

// count reads a whole number that is at least least.
func count(q url.Values, name string, least int64) (int64, error) {
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < least {
		return 0, fmt.Errorf("%w: %s: %q is not an integer of at least %d", catalog.ErrInvalid, name, q.Get(name), least)
	}
	return n, nil
}

// oneOf reads a parameter with few values; what is not given is the first.
func oneOf(q url.Values, name string, values ...string) (string, error) {
	switch v := q.Get(name); {
	case v == "":
		return values[0], nil
	case slices.Contains(values, v):
		return v, nil
	default:
		return "", fmt.Errorf("%w: %s: %q is not one of %q", catalog.ErrInvalid, name, v, values)
	}
}

// timeUnit reads the unit of Arrow's times.
func timeUnit(q url.Values) (string, error) { return oneOf(q, "time-unit", "ns", "us", "ms", "s") }
