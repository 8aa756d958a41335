package webui

import (
	"maps"
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/compaction"
)

// Metrics of a service; docs/reference/metrics.md lists them.
type Metrics struct {
	registry  *prometheus.Registry
	runs      *prometheus.CounterVec
	seconds   prometheus.Histogram
	moved     *prometheus.CounterVec
	groups    *prometheus.CounterVec
	conflicts prometheus.Counter
	expired   *prometheus.CounterVec
	leases    *prometheus.CounterVec
	objects   *prometheus.CounterVec
	failed    prometheus.Counter
	resumed   prometheus.Counter

	mu sync.Mutex
	// failures counts failed runs by table, for the charts.
	failures map[string]int64
}

// failedRuns are the numbers of failed runs by table.
func (m *Metrics) failedRuns() map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.failures)
}

// NewMetrics makes metrics; give their Finished to the service.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		failures: map[string]int64{},
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_runs_total",
			Help: "Runs over a table, by result: ok or failed."}, []string{"table", "result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "shardcat_run_seconds",
			Help: "Duration of runs in seconds.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 10)}),
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_bytes_moved_total",
			Help: "Bytes of data rewritten by compaction."}, []string{"table"}),
		groups: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_groups_total",
			Help: "Compacted groups of shards, by mode."}, []string{"mode"}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{Name: "shardcat_conflicts_total",
			Help: "Compaction plans discarded because of a conflicting commit."}),
		expired: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_expired_total",
			Help: "Rows and snapshots removed by retention and expiry, by kind."}, []string{"kind"}),
		leases: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_leases_total",
			Help: "Runs with work to do, by the state of the table's lease: held, busy or lost."}, []string{"state"}),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_collected_objects_total",
			Help: "Unreachable objects, by what was done: marked or deleted."}, []string{"done"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{Name: "shardcat_failed_groups_total",
			Help: "Groups of shards that failed and were quarantined."}),
		resumed: prometheus.NewCounter(prometheus.CounterOpts{Name: "shardcat_resumed_jobs_total",
			Help: "Jobs of crashed processes that were resumed and committed."}),
	}
	m.registry.MustRegister(m.runs, m.seconds, m.moved, m.groups, m.conflicts, m.expired, m.leases, m.objects, m.failed, m.resumed,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for vec, labels := range map[*prometheus.CounterVec][]string{
		m.groups: {string(compaction.Concat), string(compaction.Pack), string(compaction.Rebuild)}, m.expired: {"rows", "snapshots"}, m.objects: {"marked", "deleted"},
		m.leases: {string(compaction.LeaseHeld), string(compaction.LeaseBusy), string(compaction.LeaseLost)},
	} {
		for _, label := range labels {
			vec.WithLabelValues(label) // served from the start, so that its first event is an increase
		}
	}
	return m
}

// Finished books a run.
func (m *Metrics) Finished(r compaction.Run) {
	result := "ok"
	if r.Error != "" {
		result = "failed"
		m.mu.Lock()
		m.failures[r.Table.String()]++
		m.mu.Unlock()
	}
	m.runs.WithLabelValues(r.Table.String(), result).Inc()
	m.seconds.Observe(r.Seconds)
	m.moved.WithLabelValues(r.Table.String()).Add(float64(r.BytesMoved))
	for _, g := range r.Results {
		m.groups.WithLabelValues(string(g.Mode)).Inc()
	}
	m.conflicts.Add(float64(r.Conflicts))
	m.failed.Add(float64(len(r.Failed)))
	m.resumed.Add(float64(r.Resumed))
	if r.Lease != "" {
		m.leases.WithLabelValues(string(r.Lease)).Inc()
	}
	m.objects.WithLabelValues("marked").Add(float64(r.ObjectsMarked))
	m.objects.WithLabelValues("deleted").Add(float64(r.ObjectsDeleted))
	m.expired.WithLabelValues("rows").Add(float64(r.RowsExpired))
	m.expired.WithLabelValues("snapshots").Add(float64(r.SnapshotsExpired))
}

// observe adds what is read off the service and the stores on each scrape.
func (m *Metrics) observe(c *catalog.Catalog, s *compaction.Service, o Options) {
	m.registry.MustRegister(&observed{cat: c, service: s, reads: o.Reads, version: o.Version})
}

type observed struct {
	cat     *catalog.Catalog
	service *compaction.Service
	reads   func() arrowhttp.Stats
	version string
}

var (
	shardsDesc   = prometheus.NewDesc("shardcat_table_shards", "Live shards of a table.", []string{"table"}, nil)
	bytesDesc    = prometheus.NewDesc("shardcat_table_bytes", "Stored bytes referenced by a table's live shards.", []string{"table"}, nil)
	backlogDesc  = prometheus.NewDesc("shardcat_backlog_shards", "Shards that the policy would compact now.", []string{"table"}, nil)
	backlogBDesc = prometheus.NewDesc("shardcat_backlog_bytes", "Stored bytes of the shards that the policy would compact now.", []string{"table"}, nil)
	pausedDesc   = prometheus.NewDesc("shardcat_paused", "1 while a table is paused, by hand or by its settings.", []string{"table"}, nil)
	haltedDesc   = prometheus.NewDesc("shardcat_halted", "1 while a table is halted until an operator resumes it.", []string{"table"}, nil)
	failingDesc  = prometheus.NewDesc("shardcat_failing", "1 from a run over a table that failed until one succeeds.", []string{"table"}, nil)
	successDesc  = prometheus.NewDesc("shardcat_last_success_timestamp_seconds", "End of the last successful run over a table, or the time the service discovered the table.", []string{"table"}, nil)
	intervalDesc = prometheus.NewDesc("shardcat_schedule_interval_seconds", "Scheduled interval between runs over a table.", []string{"table"}, nil)
	roundsDesc   = prometheus.NewDesc("shardcat_rounds_total", "Finished runs over a table, including runs with nothing to do.", []string{"table"}, nil)
	buildDesc    = prometheus.NewDesc("shardcat_build_info", "Always 1, with the version of the program.", []string{"version", "goversion"}, nil)
	storeDesc    = prometheus.NewDesc("shardcat_store_up", "0 while runs fail because the object store of the shards is unreachable.", nil, nil)
	catalogDesc  = prometheus.NewDesc("shardcat_catalog_up", "1 if the last request for the list of tables succeeded.", nil, nil)
	heldDesc     = prometheus.NewDesc("shardcat_quarantined_groups", "Groups in quarantine after failures.", []string{"table"}, nil)
	heldSDesc    = prometheus.NewDesc("shardcat_quarantined_shards", "Shards of groups in quarantine.", []string{"table"}, nil)
	requestsDesc = prometheus.NewDesc("shardcat_requests_total", "Requests to object stores, by class, purpose (data or catalog) and bucket.", []string{"class", "for", "store"}, nil)
	trafficDesc  = prometheus.NewDesc("shardcat_transferred_bytes_total", "Bytes to and from object stores, by direction, purpose and bucket.", []string{"direction", "for", "store"}, nil)
	retriesDesc  = prometheus.NewDesc("shardcat_retries_total", "Retried requests to object stores, by purpose and bucket.", []string{"for", "store"}, nil)
	cacheDesc    = prometheus.NewDesc("shardcat_cache_hits_total", "Reads of shards served from the cache without a request.", nil, nil)
	answersDesc  = prometheus.NewDesc("shardcat_answers", "Active responses with rows, and queued requests.", []string{"state"}, nil)
	endedDesc    = prometheus.NewDesc("shardcat_answers_total", "Finished responses with rows, by result.", []string{"result"}, nil)
)

func (o *observed) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{storeDesc, pausedDesc, successDesc, intervalDesc, roundsDesc, buildDesc, catalogDesc, shardsDesc, bytesDesc, backlogDesc, backlogBDesc, haltedDesc, failingDesc, heldDesc, heldSDesc,
		requestsDesc, trafficDesc, retriesDesc, cacheDesc, answersDesc, endedDesc} {
		ch <- d
	}
}

func (o *observed) Collect(ch chan<- prometheus.Metric) {
	for _, st := range o.service.Status() {
		name := st.Table.String()
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, name)
		}
		if st.Measured {
			gauge(shardsDesc, float64(st.Shards))
			gauge(bytesDesc, float64(st.Bytes))
			gauge(backlogDesc, float64(st.BacklogShards))
			gauge(backlogBDesc, float64(st.BacklogBytes))
			gauge(heldDesc, float64(st.Quarantined))
			gauge(heldSDesc, float64(st.QuarantinedShards))
		}
		gauge(pausedDesc, truth(st.State == compaction.Paused))
		gauge(haltedDesc, truth(st.State == compaction.Halted))
		gauge(failingDesc, truth(!st.FailingSince.IsZero()))
		gauge(successDesc, float64(st.LastSuccess.UnixMilli())/1e3)
		if st.Interval > 0 {
			gauge(intervalDesc, st.Interval.Seconds())
		}
		ch <- prometheus.MustNewConstMetric(roundsDesc, prometheus.CounterValue, float64(st.Rounds), name)
	}
	ch <- prometheus.MustNewConstMetric(buildDesc, prometheus.GaugeValue, 1, o.version, runtime.Version())
	ch <- prometheus.MustNewConstMetric(catalogDesc, prometheus.GaugeValue, truth(o.service.CatalogUp()))
	ch <- prometheus.MustNewConstMetric(storeDesc, prometheus.GaugeValue, truth(o.service.StoreUp()))
	for what, stores := range map[string]map[string]blobio.Counters{"data": o.cat.Client().CountersByStore(), "catalog": o.cat.MetadataCountersByStore()} {
		for store, c := range stores {
			requests(ch, c, what, store)
		}
	}
	ch <- prometheus.MustNewConstMetric(cacheDesc, prometheus.CounterValue, float64(o.cat.Client().Counters().CacheHits))
	if o.reads != nil {
		answers(ch, o.reads())
	}
}

func answers(ch chan<- prometheus.Metric, s arrowhttp.Stats) {
	for state, n := range map[string]int64{"active": s.Active, "waiting": s.Waiting} {
		ch <- prometheus.MustNewConstMetric(answersDesc, prometheus.GaugeValue, float64(n), state)
	}
	for result, n := range map[string]int64{"whole": s.Whole, "shed": s.Shed, "gone": s.Gone, "failed": s.Failed, "refused": s.Refused} {
		ch <- prometheus.MustNewConstMetric(endedDesc, prometheus.CounterValue, float64(n), result)
	}
}

func requests(ch chan<- prometheus.Metric, c blobio.Counters, what, store string) {
	counter := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), append(labels, what, store)...)
	}
	for class, n := range map[string]int64{"get": c.Gets, "head": c.Heads, "put": c.Puts, "list": c.Lists, "delete": c.Deletes} {
		counter(requestsDesc, n, class)
	}
	counter(trafficDesc, c.GetBytes, "in")
	counter(trafficDesc, c.PutBytes, "out")
	counter(retriesDesc, c.Retries)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
