package main

import (
	"context"
	"strings"
)

// mount opens the bucket of a path or URL from the command line and returns its canonical location.
func (a *app) mount(ctx context.Context, raw string) (string, error) {
	url, err := a.client.Mount(ctx, raw)
	if err == nil {
		a.at = url
	}
	return url, err
}

// mountNamed opens the buckets of warehouse and vault that have options, so that a source in one of them needs none.
// What is wrong with one is reported by the commands that use it.
func (a *app) mountNamed() {
	for _, raw := range []string{a.warehouse, a.vault} {
		if strings.Contains(raw, "://") && strings.Contains(raw, "?") {
			_, _ = a.client.Mount(context.Background(), raw)
		}
	}
}

// mountAll mounts many.
func (a *app) mountAll(ctx context.Context, raw []string) ([]string, error) {
	out := make([]string, len(raw))
	for i, r := range raw {
		url, err := a.mount(ctx, r)
		if err != nil {
			return nil, err
		}
		out[i] = url
	}
	return out, nil
}
