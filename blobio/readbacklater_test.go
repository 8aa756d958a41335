package blobio_test

import (
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestReadBackThatIsDenied: the object that was written is no other writer's because it could not be read back.
func TestReadBackThatIsDenied(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	faulty := blobfake.NewFaulty(t, memblob.Open(t.Name()), "get *: fail denied")
	if err := client.MountBucket("mem://"+t.Name()+"/", faulty); err != nil {
		t.Fatal(err)
	}
	readBack, err := client.PutReadBackLater(t.Context(), "mem://"+t.Name()+"/object", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	if err := readBack(t.Context(), client); !errors.Is(err, blobio.ErrDenied) || errors.Is(err, blobio.ErrExists) {
		t.Errorf("%v, want %v", err, blobio.ErrDenied)
	}
}

// TestDeniedReadBackIsNoRefusal: what was written and can't be read back may be there, so nothing that it refers to may be deleted. An object in parts is no
// exception.
func TestDeniedReadBackIsNoRefusal(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	client.ReadBackWrites()
	mem := memblob.Open(t.Name())
	faulty := blobfake.NewFaulty(t, mem, "get *: fail denied")
	root := "mem://" + t.Name() + "/"
	if err := client.MountBucket(root, faulty); err != nil {
		t.Fatal(err)
	}
	large := func() error {
		w, err := client.Create(t.Context(), root+"large", blobio.CreateOptions{SizeHint: 100 << 20})
		if err == nil {
			_, err = w.Write([]byte("content"))
		}
		return errors.Join(err, w.Close())
	}
	for key, err := range map[string]error{
		"small": client.Put(t.Context(), root+"small", []byte("content")), "record": client.PutReadBack(t.Context(), root+"record", []byte("content")), "large": large(),
	} {
		if _, there := mem.Stat(t.Context(), key, blobio.ReadOptions{}); there != nil || blobio.Class(err) != blobio.ErrUnknown || !errors.Is(err, blobio.ErrDenied) {
			t.Errorf("%s: %v, and it is there: %v", key, err, there)
		}
	}
	faulty.Play(t, "get *: fail denied\nput *: fail denied")
	if err := client.Put(t.Context(), root+"refused", []byte("content")); blobio.Class(err) != blobio.ErrDenied {
		t.Errorf("a write that was refused: %v", err)
	}
}
