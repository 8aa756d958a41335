package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// countsPath is the path at which the proxy returns its counts, and resets them.
const countsPath = "/-/counts"

// counts are requests and bytes since the last reset. LIST is apart from GET, as prices are.
type counts struct {
	Get, Head, Put, List, Post, Delete int64
	Received, Sent                     int64
}

// counter is the proxy: it delays each request and counts it.
type counter struct {
	next  http.Handler
	delay time.Duration
	mu    sync.Mutex
	n     counts
}

func proxy(args []string) error {
	flags := flag.NewFlagSet("proxy", flag.ExitOnError)
	to := flags.String("to", "", "URL of the S3 server")
	delay := flags.Duration("delay", 30*time.Millisecond, "delay of each request")
	if err := flags.Parse(args); err != nil {
		return err
	}
	at, err := url.Parse(*to)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = at.Scheme, at.Host
			r.Out.Host = r.In.Host // which the signature covers
		},
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	}
	server := &http.Server{Handler: &counter{next: forward, delay: *delay}, ReadHeaderTimeout: time.Minute}
	return server.Serve(l)
}

// ServeHTTP implements http.Handler.
func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == countsPath {
		c.mu.Lock()
		n := c.n
		c.n = counts{}
		c.mu.Unlock()
		_ = json.NewEncoder(w).Encode(n)
		return
	}
	c.mu.Lock()
	*c.n.of(r)++
	c.n.Received += max(0, r.ContentLength)
	c.mu.Unlock()
	time.Sleep(c.delay)
	sized := &sizedWriter{ResponseWriter: w}
	c.next.ServeHTTP(sized, r)
	c.mu.Lock()
	c.n.Sent += sized.n
	c.mu.Unlock()
}

func (n *counts) of(r *http.Request) *int64 {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && (q.Has("list-type") || q.Has("prefix")):
		return &n.List
	case r.Method == http.MethodGet:
		return &n.Get
	case r.Method == http.MethodHead:
		return &n.Head
	case r.Method == http.MethodPost && q.Has("delete"), r.Method == http.MethodDelete:
		return &n.Delete
	case r.Method == http.MethodPost:
		return &n.Post
	}
	return &n.Put
}

// sizedWriter counts the bytes of an answer.
type sizedWriter struct {
	http.ResponseWriter
	n int64
}

// Write implements io.Writer.
func (w *sizedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *sizedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
