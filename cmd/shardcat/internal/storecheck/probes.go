package storecheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

func (e *examination) ranges(ctx context.Context) Finding {
	url, size := e.prefix+"small", int64(smallBytes)
	for _, at := range []struct{ off, n int64 }{{0, 1}, {size / 3, 1000}, {size - 1, 1}} {
		dst := make([]byte, at.n)
		info, err := e.client.ReadRange(ctx, url, at.off, dst)
		switch {
		case err != nil:
			return e.unranged(err)
		case !bytes.Equal(dst, e.small[at.off:at.off+at.n]) || info.Size != size:
			return wrong(fmt.Sprintf("bytes %d to %d are wrong", at.off, at.off+at.n-1),
				"the store or a proxy ignores ranges; use the store's own endpoint")
		}
	}
	suffix, _, err := e.client.ReadSuffix(ctx, url, 100)
	switch {
	case err != nil:
		return e.unranged(err)
	case !bytes.Equal(suffix, e.small[size-100:]):
		return wrong("the last bytes are wrong", "the store or a proxy ignores ranges")
	}
	if _, err := e.client.ReadRange(ctx, url, size-1, make([]byte, 2)); blobio.Class(err) != blobio.ErrRange {
		return wrong("a range past the end was not refused", "do not use this store: truncated objects would not be detected")
	}
	return fine("ranges and suffixes are exact")
}

// unranged is the finding of a ranged read that failed.
func (e *examination) unranged(err error) Finding {
	f := e.refused("read", err)
	if blobio.Class(err) == blobio.ErrUnknown {
		f.Do = "the store or a proxy ignores ranges; use the store's own endpoint"
	}
	return f
}

func (e *examination) pinned(ctx context.Context) Finding {
	if e.info.ETag == "" {
		return Finding{Status: Warning, What: "the store returns no ETags",
			Do: "nothing; a replaced object is detected only by its checksums"}
	}
	dst := make([]byte, 1)
	if _, err := e.client.IfMatch(e.info.ETag).ReadRange(ctx, e.prefix+"small", 0, dst); err != nil {
		return e.refused("read", err)
	}
	_, err := e.client.IfMatch(otherETag(e.info.ETag)).ReadRange(ctx, e.prefix+"small", 0, dst)
	if blobio.Class(err) != blobio.ErrChanged {
		return Finding{Status: Warning, What: "a read with the ETag of another version succeeded",
			Do: "nothing; a replaced object is detected only by its checksums"}
	}
	return fine("a replaced object is detected")
}

// otherETag is an ETag of the same form: one digit differs.
func otherETag(etag string) string {
	b := []byte(etag)
	for i, c := range b {
		if c >= '0' && c <= '9' {
			b[i] = '0' + (c-'0'+1)%10
			return string(b)
		}
	}
	return `"0"`
}

// checksum sends an object with a wrong checksum.
func (e *examination) checksum(ctx context.Context) Finding {
	url := e.prefix + "checksum"
	checked, known, err := e.client.ProbeChecksum(ctx, url)
	if known && err == nil && !checked {
		e.made = append(e.made, url)
	}
	switch {
	case err != nil:
		return e.refused("write", err)
	case !known:
		return fine("nothing is sent over a network")
	case !checked:
		return Finding{Status: Warning, What: "an object whose checksum did not match was stored",
			Do: "nothing; every object is read back after it is written, at the cost of its transfer"}
	}
	return fine("damaged uploads are refused")
}

// noConditions is what to do about a store without conditional creates.
const noConditions = "tables can't be written here, because concurrent writers would overwrite each other; use a store with " +
	"conditional writes, or --unsafe-no-conditional-writes with a single writer"

func (e *examination) conditional(ctx context.Context) Finding {
	if err := e.client.TryCreate(ctx, e.prefix+"small", []byte("second"), blobio.CreateOptions{}); err == nil {
		return unsafe("a conditional create overwrote an existing object")
	} else if !lost(err) {
		return e.refused("write", err)
	}
	won, err := e.race(ctx)
	switch {
	case err != nil:
		return e.refused("write", err)
	case won != 1:
		return unsafe(fmt.Sprintf("of %d concurrent writers of one key, %d succeeded", writers, won))
	}
	return fine("a key is created once, also by %d concurrent writers", writers)
}

// lost reports whether a create was refused because of another writer.
func lost(err error) bool {
	class := blobio.Class(err)
	return class == blobio.ErrExists || class == blobio.ErrConflict
}

// race lets several writers create one key and counts the writers that were reported as successful.
func (e *examination) race(ctx context.Context) (won int, err error) {
	url := e.prefix + "race"
	e.made = append(e.made, url)
	errs := make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			errs[i] = e.client.TryCreate(ctx, url, bytes.Repeat([]byte{byte(i)}, 100), blobio.CreateOptions{})
		})
	}
	group.Wait()
	for _, one := range errs {
		switch {
		case one == nil:
			won++
		case !lost(one):
			err = errors.Join(err, one)
		}
	}
	if won > 0 {
		err = nil // a writer that failed otherwise has not won
	}
	return won, err
}

func (e *examination) multipart(ctx context.Context) Finding {
	data := bytes.Repeat(e.small, e.opts.LargeBytes/smallBytes+1)
	if err := e.create(ctx, "large", data); err != nil {
		return e.refused("multipart", err)
	}
	other := bytes.Clone(data) // with equal content, a Client would settle the refusal as a success
	other[0]++
	err := e.client.TryCreate(ctx, e.prefix+"large", other, blobio.CreateOptions{})
	switch {
	case err == nil:
		return unsafe("a conditional multipart upload overwrote an existing object")
	case !lost(err):
		return e.refused("multipart", err)
	}
	info, err := e.client.Stat(ctx, e.prefix+"large")
	switch {
	case err != nil:
		return e.refused("read", err)
	case info.Size != int64(len(data)):
		return wrong(fmt.Sprintf("%d of %d bytes were stored", info.Size, len(data)), "do not use this store for large objects")
	}
	return fine("%d MiB were uploaded in parts, conditionally", len(data)>>20)
}

func (e *examination) clock(ctx context.Context) Finding {
	url := e.prefix + "clock"
	before := e.opts.Now()
	if err := e.create(ctx, "clock", []byte("tick")); err != nil {
		return e.refused("write", err)
	}
	after := e.opts.Now()
	info, err := e.client.Stat(ctx, url)
	if err != nil {
		return e.refused("read", err)
	}
	if !blobio.KnownTime(info.ModTime) {
		return Finding{Status: Warning, What: "the store returns no modification times",
			Do: "nothing; garbage collection keeps objects of unknown age"}
	}
	skew := skewOf(info.ModTime, before, after)
	switch {
	case skew.Abs() >= skewFailure:
		return wrong(fmt.Sprintf("this machine's clock is %s off the store's", -skew), "set the clock (NTP); the store refuses signatures")
	case skew.Abs() >= skewWarning:
		return Finding{Status: Warning, What: fmt.Sprintf("this machine's clock is %s off the store's", -skew), Do: "set the clock (NTP)"}
	}
	return fine("the clocks agree within %s", max(skew.Abs(), time.Second))
}

// skewOf is how far the store's clock is ahead of ours, which read before and after around the write. Stores
// cut times to seconds.
func skewOf(store, before, after time.Time) time.Duration {
	switch {
	case store.Before(before.Truncate(time.Second)):
		return store.Sub(before).Round(time.Second)
	case store.After(after.Add(time.Second)):
		return store.Sub(after).Round(time.Second)
	}
	return 0
}

func (e *examination) throughput(ctx context.Context) Finding {
	url := e.prefix + "large"
	begin := time.Now()
	if _, err := e.client.ReadRange(ctx, url, 0, make([]byte, 1)); err != nil {
		return e.refused("read", err)
	}
	first := time.Since(begin)
	const streams = 4
	begin = time.Now()
	limited, cancel := context.WithTimeout(ctx, slowest)
	defer cancel()
	err := e.client.Each(limited, streams, func(ctx context.Context, branch *blobio.Client, _ int) error {
		_, err := branch.ReadRange(ctx, url, 0, make([]byte, e.opts.LargeBytes))
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return Finding{Status: Warning, What: fmt.Sprintf("%d MiB took longer than %s over %d streams", streams*e.opts.LargeBytes>>20, slowest, streams),
			Do: "check for a slow network, or a proxy that returns less than the requested range"}
	case err != nil:
		return e.refused("read", err)
	}
	rate := float64(streams*e.opts.LargeBytes) / (1 << 20) / time.Since(begin).Seconds()
	return fine("first byte after %s, %.0f MiB/s over %d streams", first.Round(100*time.Microsecond), rate, streams)
}
