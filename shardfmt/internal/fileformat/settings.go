package fileformat

import (
	"strconv"
	"strings"
)

// Bool is a setting that is true or false, false if it is not given.
func (s Settings) Bool(name string) (bool, error) {
	text, ok := s[name]
	if !ok {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, &OptionError{name, text, "true or false"}
	}
	return v, nil
}

// Int is a whole number from low to high, standard if it is not given.
func (s Settings) Int(name string, standard, low, high int64) (int64, error) {
	text, ok := s[name]
	if !ok {
		return standard, nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < low || v > high {
		return 0, &OptionError{name, text, "an integer of at least " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)}
	}
	return v, nil
}

// OneOf is one of some words, the first if it is not given.
func (s Settings) OneOf(name string, words ...string) (string, error) {
	text, ok := s[name]
	if !ok {
		return words[0], nil
	}
	for _, w := range words {
		if text == w {
			return w, nil
		}
	}
	return "", &OptionError{name, text, "one of " + strings.Join(words, ", ")}
}

// Pairs reads NAME=VALUE,NAME=VALUE,….
func (s Settings) Pairs(name string) (map[string]string, error) {
	out := map[string]string{}
	text := s[name]
	if text == "" {
		return out, nil
	}
	for _, pair := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, &OptionError{name, text, "NAME=VALUE, separated by commas"}
		}
		out[k] = v
	}
	return out, nil
}
