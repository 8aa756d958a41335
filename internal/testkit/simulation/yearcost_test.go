//go:build unix

package simulation

import (
	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
)

// What an append of the year may ask of the store, whatever the table's history is: as a mean, for a conflict with the service makes it stage twice.
// Writes cost most: the price of one is that of twelve reads.
const (
	putsOfAppend  = 8
	readsOfAppend = 14
	listsOfAppend = 1
)

// The price of requests and of storage, in dollars: those that S3 publishes for its standard class in its first region. Deletes are free.
const (
	priceOfPut  = 0.005 / 1000
	priceOfRead = 0.0004 / 1000
)

// yearCatalog is a catalog and the clients of its store.
type yearCatalog struct {
	*catalog.Catalog
	clients []*blobio.Client
}

// requestsOf are the requests of all clients.
func requestsOf(clients []*blobio.Client) (sum blobio.Counters) {
	for _, c := range clients {
		sum = addCounters(sum, c.Counters())
	}
	return sum
}

func addCounters(a, b blobio.Counters) blobio.Counters {
	return a.Sub(blobio.Counters{}.Sub(b))
}

// checkRequests bounds what an append asks of the store, and reports that of the service and what both cost.
func (y *year) checkRequests() {
	cost := func(n blobio.Counters) float64 {
		return float64(n.Puts+n.Lists)*priceOfPut + float64(n.Gets+n.Heads)*priceOfRead
	}
	served, appends := requestsOf(y.served), float64(y.appends)
	puts, reads := float64(y.appending.Puts)/appends, float64(y.appending.Gets+y.appending.Heads)/appends
	lists := float64(y.appending.Lists) / appends
	if y.state == "" && (puts > putsOfAppend || reads > readsOfAppend || lists > listsOfAppend) {
		y.Errorf("an append makes %.2f writes, %.2f reads and %.2f lists, want %d, %d and %d at most", puts, reads, lists, putsOfAppend, readsOfAppend, listsOfAppend)
	}
	y.Logf("an append: %.2f writes, %.2f reads, %.2f lists, %.2f deletes; of the service an append: %.2f writes, %.2f reads, %.3f lists, %.2f deletes; %.2f and %.2f dollars for 525,600 of them",
		puts, reads, lists, float64(y.appending.Deletes)/appends, float64(served.Puts)/appends, float64(served.Gets+served.Heads)/appends, float64(served.Lists)/appends,
		float64(served.Deletes)/appends, cost(y.appending)/appends*minutesOfAYear, cost(served)/appends*minutesOfAYear)
}
