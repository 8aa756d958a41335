package httpsblob_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/httpsblob"
)

// A range of a file on a web server.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "letters", time.Time{}, bytes.NewReader([]byte("abcdefgh")))
	}))
	defer server.Close()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()

	data := make([]byte, 3)
	_, err := client.ReadRange(context.Background(), server.URL+"/letters", 2, data)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	// Output: cde
}
