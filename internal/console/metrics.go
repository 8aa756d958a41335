package console

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/compaction"
)

// Metrics of a service; docs/operations.md lists them.
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
}

// NewMetrics makes metrics; give their Finished to the service.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_runs_total",
			Help: "Runs over a table, by result: ok or failed."}, []string{"table", "result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "shardcat_run_seconds",
			Help: "How long runs took.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 10)}),
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_bytes_moved_total",
			Help: "Bytes of data that compaction read and wrote again."}, []string{"table"}),
		groups: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_groups_total",
			Help: "Groups of shards that were compacted, by mode."}, []string{"mode"}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{Name: "shardcat_conflicts_total",
			Help: "Plans that another writer's commit made void."}),
		expired: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_expired_total",
			Help: "What retention and expiry took away, by kind: rows or snapshots."}, []string{"kind"}),
		leases: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_leases_total",
			Help: "Runs with something to compact, by what became of the table's lease: held, busy or lost."}, []string{"state"}),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shardcat_collected_objects_total",
			Help: "Objects that nothing reaches, by what was done to them: marked or deleted."}, []string{"done"}),
	}
	m.registry.MustRegister(m.runs, m.seconds, m.moved, m.groups, m.conflicts, m.expired, m.leases, m.objects,
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
	}
	m.runs.WithLabelValues(r.Table.String(), result).Inc()
	m.seconds.Observe(r.Seconds)
	m.moved.WithLabelValues(r.Table.String()).Add(float64(r.BytesMoved))
	for _, g := range r.Results {
		m.groups.WithLabelValues(string(g.Mode)).Inc()
	}
	m.conflicts.Add(float64(r.Conflicts))
	if r.Lease != "" {
		m.leases.WithLabelValues(string(r.Lease)).Inc()
	}
	m.objects.WithLabelValues("marked").Add(float64(r.ObjectsMarked))
	m.objects.WithLabelValues("deleted").Add(float64(r.ObjectsDeleted))
	m.expired.WithLabelValues("rows").Add(float64(r.RowsExpired))
	m.expired.WithLabelValues("snapshots").Add(float64(r.SnapshotsExpired))
}

// observe adds what is read off the service and the stores when somebody asks.
func (m *Metrics) observe(c *catalog.Catalog, s *compaction.Service, reads func() arrowhttp.Stats) {
	m.registry.MustRegister(&observed{cat: c, service: s, reads: reads})
}

type observed struct {
	cat     *catalog.Catalog
	service *compaction.Service
	reads   func() arrowhttp.Stats
}

var (
	shardsDesc   = prometheus.NewDesc("shardcat_table_shards", "Live shards of a table.", []string{"table"}, nil)
	bytesDesc    = prometheus.NewDesc("shardcat_table_bytes", "Stored bytes that a table's live shards reach.", []string{"table"}, nil)
	backlogDesc  = prometheus.NewDesc("shardcat_backlog_shards", "Shards that the policy would compact now.", []string{"table"}, nil)
	backlogBDesc = prometheus.NewDesc("shardcat_backlog_bytes", "Stored bytes of those shards.", []string{"table"}, nil)
	haltedDesc   = prometheus.NewDesc("shardcat_halted", "1 while a table is halted and waits for somebody to look.", []string{"table"}, nil)
	failingDesc  = prometheus.NewDesc("shardcat_failing", "1 while the last run over a table failed.", []string{"table"}, nil)
	requestsDesc = prometheus.NewDesc("shardcat_requests_total", "Requests to object stores, by class and by what they were for: data or catalog.", []string{"class", "for"}, nil)
	trafficDesc  = prometheus.NewDesc("shardcat_transferred_bytes_total", "Bytes to and from object stores, by direction and by what they were for.", []string{"direction", "for"}, nil)
	answersDesc  = prometheus.NewDesc("shardcat_answers", "Answers with rows that are under way, and requests that wait for a turn.", []string{"state"}, nil)
	endedDesc    = prometheus.NewDesc("shardcat_answers_total", "Answers with rows, by how they ended.", []string{"result"}, nil)
)

func (o *observed) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{shardsDesc, bytesDesc, backlogDesc, backlogBDesc, haltedDesc, failingDesc, requestsDesc, trafficDesc, answersDesc, endedDesc} {
		ch <- d
	}
}

func (o *observed) Collect(ch chan<- prometheus.Metric) {
	for _, st := range o.service.Status() {
		name := st.Table.String()
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, name)
		}
		gauge(shardsDesc, float64(st.Shards))
		gauge(bytesDesc, float64(st.Bytes))
		gauge(backlogDesc, float64(st.BacklogShards))
		gauge(backlogBDesc, float64(st.BacklogBytes))
		gauge(haltedDesc, truth(st.State == compaction.Halted))
		gauge(failingDesc, truth(st.State == compaction.Failing))
	}
	o.requests(ch, o.cat.Client().Counters(), "data")
	o.requests(ch, o.cat.MetadataCounters(), "catalog")
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

func (o *observed) requests(ch chan<- prometheus.Metric, c blobio.Counters, what string) {
	for class, n := range map[string]int64{"get": c.Gets, "head": c.Heads, "put": c.Puts, "list": c.Lists, "delete": c.Deletes} {
		ch <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(n), class, what)
	}
	ch <- prometheus.MustNewConstMetric(trafficDesc, prometheus.CounterValue, float64(c.GetBytes), "in", what)
	ch <- prometheus.MustNewConstMetric(trafficDesc, prometheus.CounterValue, float64(c.PutBytes), "out", what)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
