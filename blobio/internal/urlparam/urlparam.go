// Package urlparam reads the parameters of a bucket's URL into the options of its driver. What is unknown, given twice
// or a secret is an error, because a URL is stored, logged and shown to others; the value of a secret is not repeated.
package urlparam

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Set is what the parameters of one kind of URL are called, and what each sets of the options O.
type Set[O any] struct {
	// Kind of URLs, for errors: "s3".
	Kind string
	// Params by their names.
	Params map[string]Param[O]
	// Named are parameters of which a part of the name is the user's, by the part before it.
	Named map[string]func(o *O, name, value string) error
	// Secrets are names in small letters which must never stand in a URL.
	Secrets []string
}

// Param sets an option by the value of a parameter.
type Param[O any] func(o *O, value string) error

// Parse reads the parameters of a URL.
func (s Set[O]) Parse(q url.Values) (o O, err error) {
	for name, values := range q {
		set, known := s.Params[name]
		for prefix, named := range s.Named {
			if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
				set, known = func(o *O, value string) error { return named(o, rest, value) }, true
			}
		}
		switch {
		case slices.Contains(s.Secrets, strings.ToLower(name)):
			return o, fmt.Errorf("parameter %q: credentials must be in the environment, not in a URL", name)
		case !known:
			return o, fmt.Errorf("parameter %q is not known to %s URLs", name, s.Kind)
		case len(values) != 1:
			return o, fmt.Errorf("parameter %q is given %d times", name, len(values))
		}
		if err := set(&o, values[0]); err != nil {
			return o, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	return o, nil
}

// Text is a parameter that is taken as it is.
func Text[O any](field func(*O) *string) Param[O] {
	return func(o *O, v string) error { *field(o) = v; return nil }
}

// Bool is a parameter that is true or false.
func Bool[O any](field func(*O) *bool) Param[O] {
	return func(o *O, v string) (err error) { *field(o), err = strconv.ParseBool(v); return err }
}

// Int is a parameter that is a number from least to most.
func Int[O any](field func(*O) *int, least, most int) Param[O] {
	return func(o *O, v string) (err error) {
		n, err := strconv.Atoi(v)
		if err == nil && (n < least || n > most) {
			err = fmt.Errorf("outside %d to %d", least, most)
		}
		*field(o) = n
		return err
	}
}

// OneOf is a parameter that is one of some values, without regard to case.
func OneOf[O any, T ~string](field func(*O) *T, values []T) Param[O] {
	return func(o *O, v string) error {
		for _, value := range values {
			if strings.EqualFold(v, string(value)) {
				*field(o) = value
				return nil
			}
		}
		return fmt.Errorf("is not one of %v", values)
	}
}

// CheckEndpoint finds what is wrong with a parameter that names the URL of a store; empty is fine.
func CheckEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return errors.New("parameter endpoint must be http://HOST or https://HOST")
	case u.User != nil || u.RawQuery != "":
		return errors.New("parameter endpoint must not hold credentials or a query")
	}
	return nil
}

// IsLocal reports whether a host, with a port or without, is an address or localhost: an emulator, as a rule.
func IsLocal(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return host == "localhost" || net.ParseIP(host) != nil
}
