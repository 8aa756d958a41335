package sysfield_test

import (
	"fmt"
	"log"

	"github.com/shardcat/shardcat/shardfmt/fileio/sysfield"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A schema with the internal fields that report when a record came and which one it is.
func ExampleNew() {
	s, err := schema.Parse("id: Int64")
	if err != nil {
		log.Fatal(err)
	}
	adder := sysfield.New(s, sysfield.Options{IngestionTime: true, Now: 639_000_000_000_000_000, RecordID: true})
	for _, field := range adder.Schema().Fields {
		fmt.Println(field.Name)
	}
	// Output:
	// id
	// Kusto.Amudai.IngestionTimestamp
	// Kusto.Amudai.RecordIdentity
}
