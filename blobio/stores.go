package blobio

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/urlresolve"
)

// Stores are options of buckets and of folders in them, by the prefix of their URLs. They name credentials (a profile, a role, an
// identity), so that one Client reads and writes with several; they hold no secrets.
type Stores struct {
	buckets map[string]url.Values // by root
	folders map[string]map[string]url.Values
}

// ParseStores reads options by prefix: "s3://bucket/" or "s3://bucket/folder/", and what would stand behind the ? of such a URL. No bucket is
// opened: an option that a store does not know is an error of the first request there.
func ParseStores(byPrefix map[string]map[string]string) (*Stores, error) {
	s := &Stores{buckets: map[string]url.Values{}, folders: map[string]map[string]url.Values{}}
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		at, err := urlresolve.Parse(strings.TrimRight(prefix, "/") + "/")
		if err != nil {
			return nil, fmt.Errorf("%s: not the URL of a bucket or of a folder in one: %w", urlresolve.Redact(prefix), err)
		}
		switch at.Scheme {
		case "file", "mem", "http", "https":
			return nil, fmt.Errorf("%s: a store of scheme %s has no options", urlresolve.Redact(prefix), at.Scheme)
		}
		options := url.Values{}
		for name, value := range byPrefix[prefix] {
			options.Set(name, value)
		}
		if len(options) == 0 {
			return nil, fmt.Errorf("%s: no options", at)
		}
		root, folder := at.Root(), strings.TrimSuffix(at.Key(), "/")
		if s.folders[root] == nil {
			s.folders[root] = map[string]url.Values{}
		}
		switch {
		case folder == "" && s.buckets[root] != nil, s.folders[root][folder] != nil:
			return nil, fmt.Errorf("%s: given twice", at)
		case folder == "":
			s.buckets[root] = options
		default:
			s.folders[root][folder] = options
		}
	}
	return s, nil
}

// Stores are those of ClientOptions, nil if there are none.
func (c *Client) Stores() *Stores { return c.opts.Stores }

// query are the options of the bucket of a URL: its own, and those of ClientOptions that it does not name.
func (s *Stores) query(u *url.URL) string {
	if s == nil {
		return u.RawQuery
	}
	plain := *u
	plain.RawQuery, plain.ForceQuery = "", false
	at, err := urlresolve.Parse(plain.String())
	if err != nil || s.buckets[at.Root()] == nil {
		return u.RawQuery
	}
	options := maps.Clone(s.buckets[at.Root()])
	maps.Copy(options, u.Query())
	return options.Encode()
}

// scopes adds the folders of a bucket that was opened with these options.
func (s *Stores) scopes(root, query string, to *scoped) error {
	if s == nil || to == nil || len(s.folders[root]) == 0 {
		return nil
	}
	of, err := url.ParseQuery(query)
	if err != nil {
		return cannotOpen(root, errors.New("malformed options"))
	}
	for folder, own := range s.folders[root] {
		options := maps.Clone(of)
		maps.Copy(options, own)
		to.add(&scope{Scope: Scope{Options: options}, root: root, prefixes: []string{folder}})
	}
	return nil
}
