// Package bench measures the decoders of shards against memcpy and against two readers of Parquet on the
// same values: github.com/parquet-go/parquet-go and arrow-go's Parquet. It is a module of its own, so that
// the peers stay out of the root module.
//
//	go run ./performance      # docs/performance.md and bench/results.md, measured and rendered
//	go test -bench . ./...    # the same measurements as Go benchmarks
//
// Everything that is compared is measured in the same run, in turns, and the best turn counts: on a machine
// that others use too, the best is what repeats.
package bench
