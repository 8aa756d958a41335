// The generator of package metapb is a module of its own, so that its compiler of .proto files is no dependency of the program.
module github.com/shardcat/shardcat/shardfmt/internal/metapb/gen

go 1.24

require (
	github.com/bufbuild/protocompile v0.14.1
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/sync v0.8.0 // indirect

tool google.golang.org/protobuf/cmd/protoc-gen-go
