package records

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
)

// A note that changes has versions: objects <notes>/<number>.json, of which the highest number counts. Objects are created and never
// overwritten, so a writer that was killed leaves the version before, and of two writers of one number the second one is refused. Earlier
// builds wrote <notes>.json, which is read if no version exists.

// versionAttempts is how often a note is written beside other writers.
const versionAttempts = 5

// PutVersion writes a version of a note and deletes those before it. record reads what the note states, after the number was
// chosen: so a version states nothing older than the one before does.
func (c Client) PutVersion(ctx context.Context, notes string, record func() (any, error)) error {
	for n := range versionAttempts {
		numbers, err := c.versions(ctx, notes)
		if err != nil {
			return err
		}
		next := last(numbers) + 1
		r, err := record()
		if err != nil {
			return err
		}
		err = c.PutNote(ctx, versionAt(notes, next), r)
		if err == nil {
			numbers, err = c.versions(ctx, notes) // the list before may have been stale
		}
		switch {
		case err == nil && last(numbers) <= next:
			return c.deleteBelow(ctx, notes, numbers, next)
		case err != nil && !errors.Is(err, blobio.ErrExists):
			return err
		}
		if err := backoff.Wait(ctx, backoff.Unknown(n+1)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w: other processes keep writing it", notes, caterr.ErrConflict)
}

// ReadLast reads the version of a note that counts. It reads once more if that was replaced meanwhile.
func (c Client) ReadLast(ctx context.Context, notes string, record any) error {
	for n := 1; ; n++ {
		numbers, err := c.versions(ctx, notes)
		if err != nil {
			return err
		}
		at := notes + ".json"
		if len(numbers) > 0 {
			at = versionAt(notes, last(numbers))
		}
		if err = c.Read(ctx, at, record); !errors.Is(err, blobio.ErrNotFound) || n == versionAttempts || len(numbers) == 0 {
			return err
		}
	}
}

// DeleteVersions deletes a note.
func (c Client) DeleteVersions(ctx context.Context, notes string) error {
	numbers, err := c.versions(ctx, notes)
	if err != nil {
		return err
	}
	return c.deleteBelow(ctx, notes, numbers, last(numbers)+1)
}

// deleteBelow deletes the versions below a number, and the note of an earlier build.
func (c Client) deleteBelow(ctx context.Context, notes string, numbers []int, limit int) error {
	urls := []string{notes + ".json"}
	for _, n := range numbers {
		if n < limit {
			urls = append(urls, versionAt(notes, n))
		}
	}
	for _, at := range urls {
		if err := c.client.Delete(ctx, at, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			return err
		}
	}
	return nil
}

// versions lists the numbers of a note's versions.
func (c Client) versions(ctx context.Context, notes string) (numbers []int, err error) {
	for info, err := range c.client.List(ctx, notes+"/") {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", notes, err)
		}
		if n, ok := VersionNumber(info.URL); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// last is the highest number, 0 if there is none.
func last(numbers []int) int { return slices.Max(append(numbers, 0)) }

func versionAt(notes string, number int) string { return fmt.Sprintf("%s/%08d.json", notes, number) }

// VersionNumber is the number in the URL of a version.
func VersionNumber(url string) (int, bool) {
	name, ok := strings.CutSuffix(path.Base(url), ".json")
	n, err := strconv.Atoi(name)
	return n, ok && err == nil && len(name) >= 8 && n > 0
}
