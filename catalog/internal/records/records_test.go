package records

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
)

const folder = "mem://records/vault/"

// note is a record with a state.
type note struct {
	Version int
	State   string
}

func newClient(t *testing.T) Client {
	client := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { client.Close() })
	if err := client.MountBucket("mem://records/", memblob.New()); err != nil {
		t.Fatal(err)
	}
	return New(client)
}

// state of a record that Read or ReadLast reads.
func state(t *testing.T, read func(context.Context, string, any) error, at string) string {
	t.Helper()
	var r note
	if err := read(t.Context(), at, &r); err != nil {
		t.Fatal(err)
	}
	return r.State
}

// objects are the names of those in the folder.
func objects(t *testing.T, c Client) (names []string) {
	t.Helper()
	for info, err := range c.client.List(t.Context(), folder) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(info.URL, folder))
	}
	return names
}

// TestRecordsAreCreated: neither kind of record overwrites one; ReplaceNote takes the place of one.
func TestRecordsAreCreated(t *testing.T) {
	ctx, c := t.Context(), newClient(t)
	for name, put := range map[string]func(context.Context, string, any) error{"record": c.Put, "note": c.PutNote, "replaced": c.ReplaceNote} {
		at := folder + name + ".json"
		if err := put(ctx, at, note{Version, "first"}); err != nil || state(t, c.Read, at) != "first" {
			t.Errorf("%s: %v", name, err)
		}
		want := "first"
		if name == "replaced" {
			want = "second"
		}
		if err := put(ctx, at, note{Version, "second"}); errors.Is(err, blobio.ErrExists) != (want == "first") || state(t, c.Read, at) != want {
			t.Errorf("%s over another: %v", name, err)
		}
	}
}

// TestReadRefuses: a record of a later version, malformed text, and a missing record. The current version and those before it are read.
func TestReadRefuses(t *testing.T) {
	c := newClient(t)
	later := strconv.Itoa(Version + 1)
	for text, want := range map[string]struct {
		class error
		text  string
	}{
		`{"version":` + later + `}`: {caterr.ErrUnsafe, "is of version " + later},
		`{"version":"1"}`:           {nil, "cannot unmarshal"},
		`{"state":1}`:               {nil, "cannot unmarshal"},
		"{":                         {nil, "unexpected end"},
		"":                          {blobio.ErrNotFound, ""},
		`{"version":` + strconv.Itoa(Version) + `}`: {},
		`{"version":0}`: {},
	} {
		at := folder + "record.json"
		if err := c.client.Delete(t.Context(), at, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			t.Fatal(err)
		}
		if text != "" {
			if err := c.client.Put(t.Context(), at, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		err := c.Read(t.Context(), at, new(note))
		if refused := want.class != nil || want.text != ""; (err != nil) != refused || want.class != nil && !errors.Is(err, want.class) ||
			err != nil && (!strings.Contains(err.Error(), want.text) || !strings.Contains(err.Error(), "record.json")) {
			t.Errorf("%q: %v, want %v %q", text, err, want.class, want.text)
		}
	}
}

// TestLeftVersions: versions that a killed writer could not delete do not count, and the next writer deletes them and what an earlier build wrote.
func TestLeftVersions(t *testing.T) {
	ctx, c := t.Context(), newClient(t)
	notes := folder + "name"
	for n, at := range []string{notes + ".json", versionAt(notes, 1), versionAt(notes, 2)} {
		want := strconv.Itoa(n)
		if err := c.PutNote(ctx, at, note{Version, want}); err != nil {
			t.Fatal(err)
		}
		if got := state(t, c.ReadLast, notes); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, number := range []string{"3", "4"} {
		err := c.PutVersion(ctx, notes, func() (any, error) { return note{Version, number}, nil })
		if err != nil || state(t, c.ReadLast, notes) != number {
			t.Fatal(err)
		}
		if left := objects(t, c); len(left) != 1 || left[0] != "name/0000000"+number+".json" {
			t.Errorf("objects %q", left)
		}
	}
	if err := c.DeleteVersions(ctx, notes); err != nil || len(objects(t, c)) != 0 {
		t.Errorf("deleted: %v, objects %q", err, objects(t, c))
	}
}

// TestVersionsOfTwoWriters: another writer creates the number that a writer has chosen, or a higher one that its list left out. The later number has the later
// state; a writer that always comes too late ends with a conflict.
func TestVersionsOfTwoWriters(t *testing.T) {
	for _, stale := range []bool{false, true} {
		for _, others := range []int{1, versionAttempts} {
			ctx, c := t.Context(), newClient(t)
			notes, calls := folder+"name", 0
			err := c.PutVersion(ctx, notes, func() (any, error) {
				if calls++; calls <= others {
					number := calls
					if stale { // one more than is chosen
						number = 2 * calls
					}
					if err := c.PutNote(ctx, versionAt(notes, number), note{Version, "other"}); err != nil {
						return nil, err
					}
				}
				return note{Version, "mine"}, nil
			})
			won := others < versionAttempts
			if errors.Is(err, caterr.ErrConflict) == won || won && err != nil {
				t.Errorf("stale %v, %d others: %v", stale, others, err)
			}
			if got := state(t, c.ReadLast, notes); (got == "mine") != won {
				t.Errorf("stale %v, %d others: state %q", stale, others, got)
			}
			if left := objects(t, c); won && len(left) != 1 {
				t.Errorf("stale %v, %d others: objects %q", stale, others, left)
			}
		}
	}
}

// TestVersionNumber reads numbers of names only.
func TestVersionNumber(t *testing.T) {
	for name, want := range map[string]int{
		"00000001.json": 1, "123456789.json": 123456789, "00000000.json": 0, "1.json": 0, "00000001": 0, "default.json": 0, "-0000001.json": 0,
	} {
		if n, ok := VersionNumber(folder + "name/" + name); ok != (want > 0) || ok && n != want {
			t.Errorf("%s: %d %v, want %d", name, n, ok, want)
		}
	}
}
