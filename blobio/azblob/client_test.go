package azblob

import (
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// TestMount: any spelling with options becomes the canonical location without them.
func TestMount(t *testing.T) {
	clearEnvironment(t)
	const root = "abfss://cont@acct.dfs.core.windows.net/"
	for raw, want := range map[string]string{
		"abfss://cont@acct.dfs.core.windows.net/p?anonymous=true":       root + "p",
		"abfs://cont@acct.dfs.core.windows.net/p?anonymous=true":        root + "p",
		"wasbs://cont@acct.blob.core.windows.net/p?anonymous=true":      root + "p",
		"https://acct.blob.core.windows.net/cont/p?anonymous=true":      root + "p",
		"azblob://cont/p?storage_account=acct&anonymous=true":           root + "p",
		"az://cont?storage_account=acct&anonymous=true":                 root,
		"abfss://ws@onelake.dfs.fabric.microsoft.com/f?anonymous=true":  "abfss://ws@onelake.dfs.fabric.microsoft.com/f",
		"https://acct.z01.blob.storage.azure.net/cont/p?anonymous=true": "abfss://cont@acct.z01.dfs.storage.azure.net/p",
		"abfss://cont@acct.dfs.core.windows.net?credential=default":     root,
	} {
		client := blobio.NewClient()
		got, err := client.Mount(t.Context(), raw)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", raw, got, err, want)
		}
		client.Close()
	}
	client := blobio.NewClient()
	defer client.Close()
	_, err := client.Mount(t.Context(), "https://acct.blob.core.windows.net/cont/p?sv=1&sig="+secret)
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("mounting a URL with a signature: %v", err)
	}
}
