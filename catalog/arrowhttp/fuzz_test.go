package arrowhttp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/shardcat/shardcat/catalog"
)

// FuzzParameters: whatever a query and the headers of a request are, they give options or an error of the request.
func FuzzParameters(f *testing.F) {
	for _, q := range []string{"where=id+%3D+1&limit=3", "as-of=0001-01-01T00:00:00Z", "snapshot=-1&ref=main", "format=arrow&compression=none&time-unit=us", "select=a.b,%22c%22", "split-size=1", "order-by=a+desc,%22b,c%22+nulls+first&limit=2", "%zz", "a;b"} {
		f.Add(q, "application/vnd.apache.arrow.stream;q=0.5, text/*", "gzip;q=1, zstd")
	}
	f.Fuzz(func(t *testing.T, query, accept, encoding string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/tables/t/rows", nil)
		r.URL.RawQuery = query
		r.Header.Set("Accept", accept)
		r.Header.Set("Accept-Encoding", encoding)
		q, err := parameters(r, rowsTakes...)
		if err != nil {
			if !errors.Is(err, catalog.ErrInvalid) {
				t.Errorf("%q: %v", query, err)
			}
			return
		}
		if _, err := formOf(r, q); err != nil && problemOf(err).Status >= http.StatusInternalServerError {
			t.Errorf("%q, %q: %v", query, accept, err)
		}
		o, err := scanOptions(q)
		if err != nil && problemOf(err).Status >= http.StatusInternalServerError {
			t.Errorf("%q: %v", query, err)
		}
		if err == nil && o.Limit < 0 && o.Limit != catalog.NoRows {
			t.Errorf("%q: a limit of %d", query, o.Limit)
		}
		if err == nil && len(o.OrderBy) > 0 && (o.Limit == 0 || o.Limit > maxOrdered) {
			t.Errorf("%q: an order of %d rows", query, o.Limit)
		}
	})
}
