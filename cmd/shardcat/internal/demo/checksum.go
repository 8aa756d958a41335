package demo

import (
	"bytes"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// checksum of a set of rows, whatever their order: their number and the sum of the hashes of their text.
type checksum struct {
	rows int64
	sum  uint64
}

// Write takes whole lines of NDJSON.
func (c *checksum) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		c.rows++
		c.sum += xxh3.Hash(line)
	}
	return len(p), nil
}

// sum reads rows and sums them up.
func (r *run) sum(o catalog.ScanOptions, stats *catalog.ScanStats) (checksum, error) {
	var c checksum
	p, err := r.table.Plan(r.ctx, o)
	if err != nil {
		return c, err
	}
	var lines bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &lines, &schema.Schema{Fields: p.Fields()}, fileio.SinkOptions{})
	if err != nil {
		return c, err
	}
	for batch, err := range p.Run(r.ctx, stats) {
		if err != nil {
			return c, err
		}
		if err := sink.Write(batch); err != nil {
			return c, err
		}
	}
	if err := sink.Close(); err != nil {
		return c, err
	}
	_, err = c.Write(lines.Bytes())
	return c, err
}
