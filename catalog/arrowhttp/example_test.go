package arrowhttp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The tables of a catalog over HTTP: a client appends NDJSON and reads CSV.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lake")
	check(err)
	defer os.RemoveAll(dir)
	lake, err := shardcat.Open(ctx, dir, shardcat.Options{})
	check(err)
	defer lake.Close()
	s, err := schema.Parse("id: Int64, city: String")
	check(err)
	_, err = lake.Create(ctx, shardcat.Name{Table: "cities"}, shardcat.CreateOptions{Schema: s})
	check(err)
	server := httptest.NewServer(arrowhttp.New(lake, arrowhttp.Options{}))
	defer server.Close()

	request, err := http.NewRequest("GET", server.URL+"/v1/tables/cities/rows", nil)
	check(err)
	request.Header.Set("Accept", "text/csv")
	answer, err := http.DefaultClient.Do(request)
	check(err)
	defer answer.Body.Close()
	rows, err := io.ReadAll(answer.Body)
	check(err)
	fmt.Print(answer.StatusCode, " ", string(rows))
	// Output: 200 id,city
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
