package main

import "context"

// mount opens the bucket of a path or URL from the command line and returns its canonical location.
func (a *app) mount(ctx context.Context, raw string) (string, error) {
	url, err := a.client.Mount(ctx, raw)
	if err == nil {
		a.at = url
	}
	return url, err
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
