package shardfmt

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// faultyRoot is the shard of these tests; its bucket is mounted again for each run.
const (
	faultyBucket = "mem://faults/"
	faultyRoot   = faultyBucket + "s.amudai.shard"
)

func overBucket(t *testing.T, b blobio.Bucket) *blobio.Client {
	t.Helper()
	sp := blobio.NewClient(blobio.ClientOptions{})
	if err := sp.MountBucket(faultyBucket, b); err != nil {
		t.Fatal(err)
	}
	return sp
}

// scanRows scans the shard, or reports why it could not.
func scanRows(t *testing.T, sp *blobio.Client) (out []arrow.RecordBatch, err error) {
	s, err := Open(t.Context(), sp, faultyRoot, OpenOptions{})
	if err != nil {
		return nil, err
	}
	for b, err := range s.Scan(t.Context(), ScanOptions{BatchRows: 1000}) {
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// TestReadsUnderFaults lets each request of a scan go wrong in each way, n = 1, 2, … until a scan needs no
// more: what passes is not seen, and what does not ends in its error.
func TestReadsUnderFaults(t *testing.T) {
	mem := memblob.New()
	writeSample(t, overBucket(t, mem), faultyRoot, 3000, WriterOptions{StripeRows: 1000})
	want := sampleBatch(sampleSchema(t), 0, 3000)
	for _, test := range []struct {
		fault string
		class error // nil: the scan succeeds
	}{
		{"fail throttled", nil},
		{"fail transient", nil},
		{"lost transient", nil},
		{"fail throttled after 5s", nil},
		{"stall 1h", nil},
		{"cut 0", nil},
		{"cut 7", nil},
		{"cut -1", nil},
		{"fail denied", blobio.ErrDenied},
		{"fail unknown", blobio.ErrUnknown},
		{"fail changed", blobio.ErrChanged},
	} {
		t.Run(test.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := blobfake.Walk(t,
					func(n int) string { return fmt.Sprintf("any %d: %s", n, test.fault) },
					func(*testing.T) blobio.Bucket { return mem },
					func(t *testing.T, n int, b *blobfake.Faulty) {
						got, err := scanRows(t, overBucket(t, b))
						switch hit := b.Requests("any") >= n; {
						case hit && test.class != nil:
							if !errors.Is(err, test.class) {
								t.Errorf("request %d: %v, want %v", n, err, test.class)
							}
						case err != nil:
							t.Errorf("request %d: %v", n, err)
						default:
							equalBatches(t, got, want)
						}
					})
				if steps < 4 {
					t.Errorf("%d requests: a root and three stripes need more", steps)
				}
			})
		})
	}
}

// TestFlippedBitOnTheWay flips a bit in each answer: the rows are right or the data is called corrupt.
func TestFlippedBitOnTheWay(t *testing.T) {
	mem := memblob.New()
	writeSample(t, overBucket(t, mem), faultyRoot, 3000, WriterOptions{StripeRows: 1000})
	want := sampleBatch(sampleSchema(t), 0, 3000)
	found := 0
	for _, at := range []int{0, 9, 100, 1000, 5000, -1, -9, -40, -500} {
		blobfake.Walk(t,
			func(n int) string { return fmt.Sprintf("any %d: flip %d", n, at) },
			func(*testing.T) blobio.Bucket { return mem },
			func(t *testing.T, n int, b *blobfake.Faulty) {
				got, err := scanRows(t, overBucket(t, b))
				switch {
				case err == nil:
					equalBatches(t, got, want)
				case !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) && !errors.Is(err, blobio.ErrRange):
					t.Errorf("byte %d of request %d: %v", at, n, err)
				default:
					found++
				}
			})
	}
	if found == 0 {
		t.Error("no flipped bit was noticed")
	}
}
