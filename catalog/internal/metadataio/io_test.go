package metadataio

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
)

// A file that is not there is fs.ErrNotExist, for Iceberg's library, and the store's error, whose text names it once.
func TestMissingMetadataFileIsNamedOnce(t *testing.T) {
	at := "file://" + filepath.Join(t.TempDir(), "00001.metadata.json")
	io := &storeIO{t.Context(), &Store{client: blobio.NewClient(blobio.ClientOptions{}), cache: newFileCache(0)}}
	_, err := io.ReadFile(at)
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
	if n := strings.Count(err.Error(), at); n != 1 || strings.Contains(err.Error(), "\n") {
		t.Errorf("it is named %d times: %v", n, err)
	}
}
