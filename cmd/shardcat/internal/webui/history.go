package webui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// The charts show how tables were over the last days. A service takes a sample of all tables at an interval and writes it into the vault,
// vault/_charts/<UTC time>-<uuid>.json, so that a restarted service, or another replica, shows what was before. Samples older than chartsKept are
// deleted by whoever reads the folder. docs/design/charts.md.

const (
	chartsFolder = "/_charts/"
	sampleEvery  = 30 * time.Minute
	chartsKept   = 14 * 24 * time.Hour
	// sampledTables bounds a sample: the tables with the most bytes; the total counts all.
	sampledTables = 5000
	// maxSample bounds what is read of a record: as many tables with the longest names.
	maxSample = 8 << 20
	// sampleTime is the layout of the time in a name, so that names sort by time.
	sampleTime = "20060102T150405Z"
)

// sample is the state of a table, or of all, at a time. Runs and Failed count from the sample before.
type tableSample struct {
	Shards       int64 `json:"shards"`
	Bytes        int64 `json:"bytes"`
	BacklogBytes int64 `json:"backlog_bytes"`
	Runs         int64 `json:"runs"`
	Failed       int64 `json:"failed"`
}

// sampleRecord is the content of a record.
type sampleRecord struct {
	Version int                    `json:"version"`
	Time    time.Time              `json:"time"`
	Total   tableSample            `json:"total"`
	Tables  map[string]tableSample `json:"tables"`
}

// history holds the samples of the last days, by time.
type history struct {
	mu      sync.Mutex
	samples []sampleRecord
	seen    map[string]bool
	// rounds and failures are those of the last sample, by table.
	rounds, failures map[string]int64
}

// take makes a sample of the tables that were measured; ok is false if there are none.
func (h *history) take(all []compaction.TableStatus, failures map[string]int64, now time.Time) (r sampleRecord, ok bool) {
	r = sampleRecord{Version: 1, Time: now.UTC().Truncate(time.Second), Tables: map[string]tableSample{}}
	all = slices.DeleteFunc(slices.Clone(all), func(st compaction.TableStatus) bool { return !st.Measured })
	slices.SortFunc(all, func(a, b compaction.TableStatus) int { return cmp.Compare(b.Bytes, a.Bytes) })
	h.mu.Lock()
	defer h.mu.Unlock()
	rounds := map[string]int64{}
	for i, st := range all {
		name := st.Table.String()
		rounds[name] = st.Rounds
		s := tableSample{Shards: st.Shards, Bytes: st.Bytes, BacklogBytes: st.BacklogBytes,
			Runs: max(0, st.Rounds-h.rounds[name]), Failed: max(0, failures[name]-h.failures[name])}
		r.Total.Shards, r.Total.Bytes, r.Total.BacklogBytes = r.Total.Shards+s.Shards, r.Total.Bytes+s.Bytes, r.Total.BacklogBytes+s.BacklogBytes
		r.Total.Runs, r.Total.Failed = r.Total.Runs+s.Runs, r.Total.Failed+s.Failed
		if i < sampledTables {
			r.Tables[name] = s
		}
	}
	h.rounds, h.failures = rounds, failures
	return r, len(all) > 0
}

// add keeps a sample.
func (h *history) add(r sampleRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = append(h.samples, r)
	slices.SortStableFunc(h.samples, func(a, b sampleRecord) int { return a.Time.Compare(b.Time) })
	first, _ := slices.BinarySearchFunc(h.samples, r.Time.Add(-chartsKept), func(s sampleRecord, t time.Time) int { return s.Time.Compare(t) })
	h.samples = slices.Delete(h.samples, 0, first)
}

// write puts a sample into the vault.
func (h *history) write(ctx context.Context, c *catalog.Catalog, r sampleRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	at := c.Vault() + chartsFolder + r.Time.Format(sampleTime) + "-" + uuid.NewString() + ".json"
	h.mu.Lock()
	if h.seen == nil {
		h.seen = map[string]bool{}
	}
	h.seen[at] = true
	h.mu.Unlock()
	return c.Client().Put(ctx, at, text)
}

// read takes over the samples in the vault that it does not have, and deletes those that are too old.
func (h *history) read(ctx context.Context, c *catalog.Catalog, now time.Time) error {
	folder := c.Vault() + chartsFolder
	oldest := now.UTC().Add(-chartsKept).Format(sampleTime)
	for info, err := range c.Client().List(ctx, folder) {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(info.URL, folder)
		h.mu.Lock()
		if h.seen == nil {
			h.seen = map[string]bool{}
		}
		known := h.seen[info.URL]
		h.seen[info.URL] = true
		h.mu.Unlock()
		if name < oldest {
			if err := c.Client().Delete(ctx, info.URL, info.ETag); err != nil && !errors.Is(err, blobio.ErrNotFound) {
				return err
			}
			continue
		}
		if known {
			continue
		}
		text, _, err := c.Client().ReadAll(ctx, info.URL, maxSample)
		if errors.Is(err, blobio.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		var r sampleRecord
		if json.Unmarshal(text, &r) == nil && r.Version == 1 && !r.Time.IsZero() && !r.Time.After(now.Add(time.Hour)) {
			h.add(r)
		}
	}
	return nil
}

// Keep takes samples for the charts until ctx is done.
func (h *Console) Keep(ctx context.Context) error {
	report := func(err error) {
		if err != nil && ctx.Err() == nil {
			h.o.Log.Warn("the charts lack samples", "error", err)
		}
	}
	report(h.history.read(ctx, h.cat, time.Now()))
	wait := time.Minute // a first sample once tables have been looked at
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = sampleEvery
		report(h.history.read(ctx, h.cat, time.Now())) // those of other replicas
		if r, ok := h.history.take(h.service.Status(), h.metrics.failedRuns(), time.Now()); ok {
			h.history.add(r)
			report(h.history.write(ctx, h.cat, r))
		}
	}
}

// chart is a line over the time of the samples.
type chart struct {
	Title, Class string
	// Points of a polyline in a box of chartWidth by chartHeight.
	Points string
	// Least, Most and Last are values as text.
	Most, Last  string
	First, Ends string
}

const chartWidth, chartHeight = 300, 60

// chartsOf draws the samples of a table, of all tables if the name is empty; nil if there are fewer than two.
func (h *history) chartsOf(name string) []chart {
	h.mu.Lock()
	defer h.mu.Unlock()
	var times []time.Time
	var samples []tableSample
	for _, r := range h.samples {
		s, ok := r.Tables[name]
		if name == "" {
			s, ok = r.Total, true
		}
		if !ok {
			continue
		}
		if n := len(times); n > 0 && r.Time.Sub(times[n-1]) < sampleEvery/3 { // another replica's
			samples[n-1].Runs, samples[n-1].Failed = samples[n-1].Runs+s.Runs, samples[n-1].Failed+s.Failed
			continue
		}
		times, samples = append(times, r.Time), append(samples, s)
	}
	if len(samples) < 2 {
		return nil
	}
	line := func(title, class string, text func(int64) string, of func(tableSample) int64) chart {
		c := chart{Title: title, Class: class, Last: text(of(samples[len(samples)-1])), First: times[0].UTC().Format("2 Jan 15:04"), Ends: times[len(times)-1].UTC().Format("2 Jan 15:04")}
		most := int64(1)
		for _, s := range samples {
			most = max(most, of(s))
		}
		c.Most = text(most)
		span := times[len(times)-1].Sub(times[0])
		var b strings.Builder
		for i, s := range samples {
			x := float64(chartWidth) * float64(times[i].Sub(times[0])) / float64(max(span, 1))
			fmt.Fprintf(&b, "%.1f,%.1f ", x, chartHeight-float64(chartHeight-2)*float64(of(s))/float64(most)-1)
		}
		c.Points = strings.TrimSpace(b.String())
		return c
	}
	return []chart{
		line("Shards", "c0", exact, func(s tableSample) int64 { return s.Shards }),
		line("Stored", "c1", sizeText, func(s tableSample) int64 { return s.Bytes }),
		line("Backlog", "c2", sizeText, func(s tableSample) int64 { return s.BacklogBytes }),
		line("Runs", "c3", exact, func(s tableSample) int64 { return s.Runs }),
		line("Failed runs", "c4", exact, func(s tableSample) int64 { return s.Failed }),
	}
}
