package s3blob

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"time"
)

// answers repairs the headers of answers, of which the SDK reads more strictly than stores write them, or which stores
// write elsewhere.
type answers struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	mendTime(resp.Header)
	if resp.StatusCode >= 300 && resp.Header.Get(regionHeader) == "" {
		findRegion(resp)
	}
	return resp, nil
}

// mendTime makes a time that is not HTTP's own one that is, or drops it: the SDK refuses the whole answer.
func mendTime(h http.Header) {
	const name = "Last-Modified"
	text := h.Get(name)
	if text == "" {
		return
	}
	if _, err := http.ParseTime(text); err == nil {
		return
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		h.Set(name, at.UTC().Format(http.TimeFormat))
		return
	}
	h.Del(name)
}

// regions finds the region that a store names in the text of a refusal.
var regions = []*regexp.Regexp{
	regexp.MustCompile(`<Region>([a-z0-9-]{2,40})</Region>`),
	regexp.MustCompile(`expecting (?:'|&apos;|&#39;)([a-z0-9-]{2,40})(?:'|&apos;|&#39;)`),
	regexp.MustCompile(`[Cc]redential scope should be (?:'|&apos;|&#39;)([a-z0-9-]{2,40})(?:'|&apos;|&#39;)`),
	regexp.MustCompile(`<Endpoint>[^<]*s3[.-]([a-z]{2}[a-z0-9-]*-[0-9])\.amazonaws`),
}

// findRegion reads what a refusal states about the region, into the header where AWS states it.
func findRegion(resp *http.Response) {
	const most = 64 << 10
	head, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	for _, r := range regions {
		if found := r.FindSubmatch(head); found != nil {
			resp.Header.Set(regionHeader, string(found[1]))
			return
		}
	}
}
