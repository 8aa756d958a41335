package scan

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// Store reads ranges of objects; a *blobio.Client is one.
type Store interface {
	// ReadRanges reads many ranges of one object, in as few requests as makes sense.
	ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error)
}

// branching is a store that distinguishes requests which wait for one another from those that don't, and knows how many may
// be under way at the same time; a *blobio.Client is one.
type branching interface {
	Store
	Fork() *blobio.Fork
	Each(ctx context.Context, n int, do func(ctx context.Context, c *blobio.Client, i int) error) error
}

// intoStore is a store that reads into memory which take gives, for several requests at the same time; a *blobio.Client is one.
type intoStore interface {
	ReadRangesInto(ctx context.Context, url string, ranges []blobio.Range, take func(n int) []byte) ([][]byte, error)
}

// fetcher gets the bytes of columns.
type fetcher struct {
	store Store
	mu    sync.Mutex
	lent  []*lent // memory that is used again after settle, or when a column lets go of it: values are copied out of it
	spare []*lent // without memory
	// mem is charged for the bytes: held is what has been charged and not given back, and of that stays what is kept to the
	// end of the stripe.
	mem         *budget.Account
	held, stays uint64
	// joins is the most bytes that a round reads for nothing to save requests where rows are scattered; 0 for a local store.
	joins uint64
	// crowded: the scan has more stripes than a bucket has requests in flight, so that each request makes others wait.
	crowded bool
	// joint, if not nil, are the stripes whose requests are made together with those of this one.
	joint *joint
}

// near gives the store to read from: where requests cost next to nothing, a view of it in which what was opened stays open until done
// is called, and in which one worker makes its requests one after the other (nearby).
func near(ctx context.Context, st Store, q *Request) (store Store, local, nearby bool, done func()) {
	c, ok := st.(*blobio.Client)
	if !ok || !c.Nearby(ctx, q.Root.URL()) {
		return st, false, false, func() {}
	}
	if q.Workers == 1 {
		c, nearby = c.InTurn(), true
	}
	c, done = c.KeepOpen()
	return c, true, nearby, done
}

// branches gives fetchers whose requests do not wait for one another. join is called when their work is done.
func (f *fetcher) branches() (next func() *fetcher, join func()) {
	if b, ok := f.store.(branching); ok {
		fork := b.Fork()
		return func() *fetcher { return &fetcher{store: fork.Branch(), joins: f.joins, crowded: f.crowded} }, fork.Join
	}
	return func() *fetcher { return &fetcher{store: f.store, joins: f.joins, crowded: f.crowded} }, func() {}
}

// maxRequests is how many requests of a round are under way at the same time where the store does not state.
const maxRequests = 16

// eaching is a store that calls do for 0 … n−1, several at the same time, with stores whose requests do not wait for one another.
type eaching interface {
	EachStore(ctx context.Context, n int, do func(ctx context.Context, st Store, i int) error) error
}

// each calls do for 0 … n−1, several at the same time.
func (f *fetcher) each(ctx context.Context, n int, do func(ctx context.Context, st Store, i int) error) error {
	return eachThrough(ctx, f.store, n, do)
}

func eachThrough(ctx context.Context, st Store, n int, do func(ctx context.Context, st Store, i int) error) error {
	if e, ok := st.(eaching); ok && n > 1 {
		return e.EachStore(ctx, n, do)
	}
	if b, ok := st.(branching); ok && n > 1 {
		return b.Each(ctx, n, func(ctx context.Context, c *blobio.Client, i int) error { return do(ctx, c, i) })
	}
	return parallel.Each(ctx, maxRequests, n, func(i int) error { return do(ctx, st, i) })
}

// eachUpTo is each with at most limit calls at a time, where the store is a Client.
func (f *fetcher) eachUpTo(ctx context.Context, limit, n int, do func(ctx context.Context, st Store, i int) error) error {
	if c, ok := f.store.(*blobio.Client); ok && n > 1 {
		return c.EachUpTo(ctx, limit, n, func(ctx context.Context, c *blobio.Client, i int) error { return do(ctx, c, i) })
	}
	return f.each(ctx, n, do)
}

// columns makes the requests that columns need for ranges, all of a round together. whole means that ranges are all
// rows of the stripe.
func (f *fetcher) columns(ctx context.Context, columns []column.Column, ranges []colstream.Range, whole bool) error {
	return f.columnsFor(ctx, columns, ranges, whole, nil)
}

// columnsFor is columns that ends where there is no space for the bytes of a round; nil allows any.
func (f *fetcher) columnsFor(ctx context.Context, columns []column.Column, ranges []colstream.Range, whole bool, room func(bytes uint64) bool) error {
	for {
		round, err := needs(columns, ranges, whole)
		if err != nil || len(round) == 0 || room != nil && !room(bytesOf(round)) {
			return err
		}
		switch answered, err := f.remember(round); {
		case err != nil:
			return err
		case answered:
			continue // what follows from them is requested together with the others
		}
		if err := f.roundThrough(ctx, f.store, round, len(ranges) > fewRequests); err != nil {
			return err
		}
	}
}

// remembering is a store that has some ranges of some objects in memory.
type remembering interface {
	// Known is a range that is in memory, nil if it is not.
	Known(url string, r blobio.Range) []byte
}

// remember answers the requests whose bytes the store has in memory; false if there are none.
func (f *fetcher) remember(round []colstream.Request) (answered bool, err error) {
	st, ok := f.store.(remembering)
	if !ok {
		return false, nil
	}
	for _, q := range round {
		b := st.Known(q.URL, blobio.Range{Start: int64(q.Start), End: int64(q.End)})
		if b == nil {
			continue
		}
		if err := f.hold([]colstream.Request{q}); err != nil {
			return false, err
		}
		if err := q.Fill(b); err != nil {
			return false, err
		}
		answered = true
	}
	return answered, nil
}

// needs are the requests that columns need for ranges at first.
func needs(columns []column.Column, ranges []colstream.Range, whole bool) (round []colstream.Request, err error) {
	for _, c := range columns {
		q, err := c.Need(ranges, whole)
		if err != nil {
			return nil, err
		}
		if len(columns) == 1 {
			return q, nil
		}
		round = append(round, q...)
	}
	return round, nil
}

// round reads the ranges of requests, near ones of an object together, all at the same time.
func (f *fetcher) round(ctx context.Context, round []colstream.Request) error {
	return f.roundThrough(ctx, f.store, round, false)
}

// roundThrough is round by requests of a store. scattered means that rows are wanted that lie here and there in columns.
func (f *fetcher) roundThrough(ctx context.Context, st Store, round []colstream.Request, scattered bool) error {
	if err := f.hold(round); err != nil {
		return err
	}
	if f.joint != nil {
		if read, err := f.joint.read(ctx, f, round); read || err != nil {
			return err
		}
	}
	if len(round) == 1 { // as of one column
		return f.roundOf(ctx, st, round)
	}
	groups := f.joinNear(round, scattered)
	if len(groups) == 1 { // as mostly
		return f.roundOf(ctx, st, groups[0])
	}
	got := make([][][]byte, len(groups))
	err := eachThrough(ctx, st, len(groups), func(ctx context.Context, st Store, i int) (err error) {
		got[i], err = f.readGroup(ctx, st, groups[i])
		return err
	})
	if err != nil {
		return err
	}
	for i, g := range groups { // one after the other: requests of one stream may be in several groups
		if err := fill(g, got[i]); err != nil {
			return err
		}
	}
	return nil
}

// joinNear puts requests into groups that are read together, and charges what lies between them.
func (f *fetcher) joinNear(round []colstream.Request, scattered bool) [][]colstream.Request {
	groups := groupByObject(round)
	most, room := f.gapsOf(len(groups), bytesOf(round), scattered)
	joined, gaps := joinGroups(groups, most, room)
	if f.mem.Hold(gaps) != nil {
		return groups
	}
	f.held += gaps
	return joined
}

// roundOf is round of one group.
func (f *fetcher) roundOf(ctx context.Context, st Store, g []colstream.Request) error {
	got, err := f.readGroup(ctx, st, g)
	if err != nil {
		return err
	}
	return fill(g, got)
}

// bytesOf is the number of bytes of requests.
func bytesOf(round []colstream.Request) (n uint64) {
	for _, q := range round {
		n += q.End - q.Start
	}
	return n
}

// fill answers the requests of a group.
func fill(g []colstream.Request, got [][]byte) error {
	for i, q := range g {
		if err := q.Fill(got[i]); err != nil {
			return err
		}
	}
	return nil
}

// hold charges the bytes of requests.
func (f *fetcher) hold(round []colstream.Request) error {
	n, stays := uint64(0), uint64(0)
	for _, q := range round {
		n += q.End - q.Start
		if q.Stays {
			stays += q.End - q.Start
		}
	}
	if err := f.mem.Hold(n); err != nil {
		return err
	}
	f.held += n
	f.stays += stays
	f.mem.Fetched(n)
	return nil
}

// release gives back what was charged for bytes that don't stay.
func (f *fetcher) release() {
	f.mem.Drop(f.held - f.stays)
	f.held = f.stays
}

// groupByObject puts requests that lie close together in one object into one group.
func groupByObject(round []colstream.Request) (groups [][]colstream.Request) {
	if !slices.ContainsFunc(round, func(q colstream.Request) bool { return q.URL != round[0].URL }) {
		return group(round) // as mostly
	}
	byURL := make(map[string][]colstream.Request)
	var urls []string
	for _, q := range round {
		if byURL[q.URL] == nil {
			urls = append(urls, q.URL)
		}
		byURL[q.URL] = append(byURL[q.URL], q)
	}
	for _, url := range urls {
		groups = append(groups, group(byURL[url])...)
	}
	return groups
}

const (
	// smallGap is how many bytes may be read for nothing to save a request, whatever else is read: a point
	// lookup of 128 KiB has space for a few.
	smallGap = 16 << 10
	// wasteShare is the part of what is needed that may be read for nothing besides: a scan stays within 1.05.
	wasteShare = 25
)

// group puts requests that lie close together into one group.
func group(round []colstream.Request) [][]colstream.Request {
	sorted, byStart := round, func(a, b colstream.Request) int { return cmp.Compare(a.Start, b.Start) }
	if !slices.IsSortedFunc(round, byStart) {
		sorted = slices.Clone(round)
		slices.SortFunc(sorted, byStart)
	}
	spare := uint64(0)
	for _, q := range sorted {
		spare += (q.End - q.Start) / wasteShare
	}
	var out [][]colstream.Request
	first, end := 0, uint64(0) // of the group available
	for i, q := range sorted {
		gap := q.Start - min(end, q.Start)
		switch {
		case i == 0 || gap <= smallGap:
		case gap <= spare:
			spare -= gap
		default:
			out = append(out, sorted[first:i])
			first = i
		}
		end = max(end, q.End)
	}
	return append(out, sorted[first:])
}

const (
	// fewRequests is how many requests a round makes at the same time without joining more than smallGap: they take one round trip.
	fewRequests = 8
	// gapPerRequest is how many more bytes a gap may have for each request above fewRequests: few requests take no longer than one does.
	gapPerRequest = 64 << 10
	// mostGap is the most bytes that are read for nothing to save a request; a Client reads over as much.
	mostGap = 1 << 20
	// roundJoins bounds the bytes that a round reads for nothing.
	roundJoins = 32 << 20
	// joinShare is the part of a scan's memory that these bytes may take.
	joinShare = 16
	// crowdedGap is the most bytes of a gap that are read where requests of other stripes wait: of 64 in flight, each holds others up for half a
	// millisecond, in which all of them together bring 1.5 MiB at 50 MiB/s each, and a link of 1 Gbit/s 60 KiB.
	crowdedGap = 64 << 10
)

// gapsOf is how many bytes a gap may have over which the requests of a round are joined, and all such gaps together; n groups need bytes.
//
// Of rows that an index names, scattered over a column, each is a request, and reading the column as a whole would be a few. (One row of
// many columns is many requests too, but no whole column.) The more groups there are, the larger the gaps that are read to save a request,
// up to what a request costs.
//
// Where a scan has more stripes than requests can be in flight, those of one stripe make those of others wait, however few they are.
func (f *fetcher) gapsOf(n int, bytes uint64, scattered bool) (most, room uint64) {
	if f.crowded {
		most, room = crowdedGap, bytes // as much for nothing as for use
	}
	if scattered && n > fewRequests {
		most, room = max(most, scatteredGap(n)), f.joins
	}
	return most, min(room, f.joins)
}

// scatteredGap is gapsOf of scattered rows in n groups.
func scatteredGap(n int) uint64 {
	return min(mostGap, gapPerRequest*uint64(max(0, n-fewRequests)))
}

// joinGroups joins neighbouring groups of an object over gaps of at most so many bytes. The smallest gaps go first, until they have room bytes
// together; gaps is how many they have.
func joinGroups(groups [][]colstream.Request, most, room uint64) (joined [][]colstream.Request, gaps uint64) {
	if room == 0 || len(groups) < 2 {
		return groups, 0
	}
	type gap struct {
		after int // the group before it
		bytes uint64
	}
	var found []gap
	for i := range len(groups) - 1 {
		last, next := groups[i][0], groups[i+1][0]
		if last.URL != next.URL {
			continue
		}
		end := uint64(0)
		for _, q := range groups[i] {
			end = max(end, q.End)
		}
		if n := next.Start - end; n <= most {
			found = append(found, gap{i, n})
		}
	}
	slices.SortFunc(found, func(a, b gap) int { return cmp.Compare(a.bytes, b.bytes) })
	join := make([]bool, len(groups))
	for _, g := range found {
		if gaps+g.bytes > room {
			break
		}
		gaps += g.bytes
		join[g.after] = true
	}
	for i, g := range groups {
		if n := len(joined); n > 0 && join[i-1] {
			joined[n-1] = append(joined[n-1], g...)
		} else {
			joined = append(joined, slices.Clip(g))
		}
	}
	return joined, gaps
}

// lent is memory that was fetched into, and how many requests lie in it whose bytes somebody has not let go of.
type lent struct {
	b    []byte
	used int
	let  func() // says of one request that it is not looked at any more
}

// lend gives memory for n bytes that are fetched.
func (f *fetcher) lend(n int) []byte {
	b := bufpool.Again(roomFor(n))[:n]
	f.mu.Lock()
	defer f.mu.Unlock()
	var l *lent
	if n := len(f.spare); n > 0 {
		l, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		l = &lent{}
		l.let = func() { f.let(l) }
	}
	l.b = b
	f.lent = append(f.lent, l)
	return b
}

// evenRoom is the most bytes that are rounded to a power of two, so that windows of about the same size use the same memory again.
const evenRoom = 1 << 20

// roomFor is how much memory n bytes are given.
func roomFor(n int) int {
	if n > evenRoom || n < 2 {
		return n
	}
	return 1 << bits.Len(uint(n-1))
}

// watch gives back the memory of requests as soon as all that lie in it were let go of.
func (f *fetcher) watch(g []colstream.Request, got [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, q := range g {
		k := slices.IndexFunc(f.lent, func(l *lent) bool { return within(l.b, got[i]) })
		if k < 0 {
			continue // of no bytes
		}
		l := f.lent[k]
		l.used++ // for good, if nobody reports
		if q.Let != nil {
			*q.Let = l.let
		}
	}
}

// within reports whether part is a part of b that has some bytes.
func within(b, part []byte) bool {
	if len(part) == 0 || len(b) == 0 {
		return false
	}
	first, at := uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&part[0]))
	return at >= first && at < first+uintptr(len(b))
}

// let gives memory back if nobody looks at it any more.
func (f *fetcher) let(l *lent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.used--; l.used > 0 {
		return
	}
	if k := slices.Index(f.lent, l); k >= 0 {
		f.lent = slices.Delete(f.lent, k, k+1)
		bufpool.GiveBack(l.b)
		l.b, l.used = nil, 0
		f.spare = append(f.spare, l)
	}
}

// leave leaves memory that was lent to whoever has bytes in it: a batch that may be kept.
func (f *fetcher) leave(bytes []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lent = slices.DeleteFunc(f.lent, func(l *lent) bool { return within(l.b, bytes) })
}

// settle gives back the memory of all that was fetched: nobody may look at it any more.
func (f *fetcher) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.lent {
		bufpool.GiveBack(l.b)
	}
	f.lent = nil
}

// readGroup reads the requests of a group.
func (f *fetcher) readGroup(ctx context.Context, st Store, g []colstream.Request) ([][]byte, error) {
	ranges := bytesAt(g)
	var got [][]byte
	var err error
	if into, ok := st.(intoStore); ok {
		if got, err = into.ReadRangesInto(ctx, g[0].URL, ranges, f.lend); err == nil {
			f.watch(g, got)
		}
	} else {
		got, err = st.ReadRanges(ctx, g[0].URL, ranges)
	}
	return got, meta.Missing(err, g[0].URL)
}

// bytesAt are the ranges of requests.
func bytesAt(g []colstream.Request) []blobio.Range {
	ranges := make([]blobio.Range, len(g))
	for i, q := range g {
		ranges[i] = blobio.Range{Start: int64(q.Start), End: int64(q.End)}
	}
	return ranges
}
