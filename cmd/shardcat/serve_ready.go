package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// readyTimeout bounds the request of `serve --ready`; orchestrators wait about as long.
const readyTimeout = 5 * time.Second

// localAddress returns the address under which this machine reaches a service that listens on listen.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" {
		return "", usagef("invalid argument %q for --listen: must be HOST:PORT", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if strings.Contains(listen, "[") {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}

// requestReady returns an error unless the service that listens on listen is ready. No proxy is used.
func requestReady(ctx context.Context, listen string) error {
	address, err := localAddress(listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("service at %s: no response: %w", address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return fmt.Errorf("service at %s: not ready: %s: %s", address, resp.Status, strings.TrimSpace(string(reason)))
	}
	return nil
}
