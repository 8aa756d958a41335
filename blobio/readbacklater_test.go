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
