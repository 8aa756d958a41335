package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/inspect"
)

// sizes compares the bytes of each column with those of the best encoding of Parquet for it. They are exact.
func sizes(r *run) error {
	return r.withTables(func(p *peers, g *given, _ []contestant) error {
		var peer map[string]struct {
			Bytes    float64
			Encoding string
		}
		if err := p.ask(request{"do": "best", "table": g.name}, &peer); err != nil {
			return err
		}
		stored := map[string]map[string]float64{}
		for _, profile := range []shardfmt.Profile{shardfmt.Balanced, shardfmt.HighCompression} {
			c := &ours{profile: profile}
			if _, err := c.write(g); err != nil {
				return err
			}
			var err error
			if stored[profile.String()], err = columnSizes(c.url(g)); err != nil {
				return err
			}
		}
		for _, node := range g.schema.Fields {
			best, ok := peer[node.Name]
			if !ok {
				return fmt.Errorf("no column %s in Parquet", node.Name)
			}
			v := map[string]float64{"parquet": best.Bytes}
			for profile, bytes := range stored {
				v[profile] = bytes[node.Name]
			}
			r.add(Row{Part: "sizes", Subject: g.name, Task: node.Name, Note: best.Encoding, V: v})
		}
		return nil
	}, "sizes")
}

// columnSizes gives the bytes of the buffers of each top-level column, with those of its children.
func columnSizes(url string) (map[string]float64, error) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	x, err := inspect.Shard(context.Background(), client, url, inspect.Options{Detail: inspect.Encodings})
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for path, f := range x.Fields {
		top, _, _ := strings.Cut(path, ".")
		for _, s := range f.Stripes {
			if s == nil {
				continue
			}
			for _, e := range s.Encodings {
				for _, b := range e.Buffers {
					out[top] += float64(b.Size)
				}
			}
		}
	}
	return out, nil
}
